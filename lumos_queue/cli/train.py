"""The command that submits a training job."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli.submit import submit_and_finish

if TYPE_CHECKING:
    from lumos_queue.settings import Settings
    from lumos_queue.training.recipes.base import Recipe

AUTO = "auto"


def train(
    recipe: Annotated[str, typer.Argument(
        help="sft: train on builds. starter: train the models that come with the project. experts: train small "
             "networks for --tool experts=own:FOLDER.")],
    folder: Annotated[Path, typer.Option(help="For checkpoints and the model; all workers need access to it.")],
    data: Annotated[list[str], typer.Option(
        help="sft: a build (its name or folder) or a JSON lines file; may be repeated, one given twice counts "
             "twice. starter: the folder with the original files of gsm8k, mawps, asdiv and svamp.")] = [],
    start: Annotated[str, typer.Option(
        "--from", help="sft: the model folder to start from, starter, or scratch. starter: the base of its adapter.",
        )] = "",
    preset: Annotated[str, typer.Option(
        help="sft: paper (all weights, as LUMOS), lora (adapters) or scratch (a small model). Default: scratch from "
             "scratch or starter, else paper.")] = "",
    formulation: Annotated[str, typer.Option(help="sft: which of a build's formulations to train on.")] = "iterative",
    module: Annotated[str, typer.Option(
        help="sft: whose conversations: planner, grounder, or joint for both.")] = "joint",
    epochs: Annotated[float, typer.Option(min=0.0, help="sft: passes over the data; 0: the preset's.")] = 0.0,
    steps: Annotated[int, typer.Option(
        min=0, help="Optimizer steps; 0: as the epochs say, starter 6500 (small model), experts 200 to 1500.")] = 0,
    batch: Annotated[int, typer.Option(min=0, help="sft: conversations of an optimizer step; 0: the preset's.")] = 0,
    max_length: Annotated[int, typer.Option(
        min=0, help="sft: tokens of a conversation, the rest is cut off; 0: 1024.")] = 0,
    rate: Annotated[float, typer.Option(min=0.0, max=1.0, help="sft: peak learning rate; 0: the preset's.")] = 0.0,
    lora: Annotated[int, typer.Option(min=0, help="sft: rank of adapters; 0: the preset's.")] = 0,
    precision: Annotated[str, typer.Option(help="sft: of matrix products: bf16 or fp32.")] = "bf16",
    gradient_checkpointing: Annotated[bool, typer.Option(
        "--gradient-checkpointing", help="sft: less memory, a third more time.")] = False,
    device: Annotated[str, typer.Option(
        help="sft: cpu, cuda (a worker of the pool gpu), or auto: cuda where this machine has a GPU.")] = AUTO,
    window: Annotated[int, typer.Option(min=0, help="Optimizer steps between checkpoints; 0: the recipe's.")] = 0,
    seed: Annotated[int, typer.Option(
        min=0, max=opt.MAX_INTEGER, help="Seed of weights, order and dropout; starter: 7 if not given.")] = 0,
    adapter_steps: Annotated[int, typer.Option(min=1, help="starter: optimizer steps of the adapter.")] = 800,
    one_pass_steps: Annotated[int, typer.Option(min=1, help="starter: steps of the small one-pass model.")] = 1500,
    generated: Annotated[int, typer.Option(min=1, help="starter: wordmath problems to choose from.")] = 40_000,
    only: Annotated[list[str], typer.Option(
        help="experts: which one, such as image-denoising; starter: adapter, iterative or one-pass; may be repeated. "
             "Default: all.")] = [],
    profile: Annotated[str, typer.Option(
        help="experts: how strongly pictures are changed: released, strong or both.")] = "both",
    again: opt.Again = False, follow: opt.Follow = False, priority: opt.Priority = 0, json: opt.Json = False,
) -> None:  # fmt: skip
    """Train a planner and a grounder, or experts.

    Training runs in windows of optimizer steps, or expert after expert; after each it can be resumed.
    """
    from lumos_queue.errors import SpecError, unknown
    from lumos_queue.jobs.train import Train
    from lumos_queue.settings import read_settings
    from lumos_queue.training.recipes.experts import experts
    from lumos_queue.training.recipes.registry import RECIPES

    settings = read_settings()
    if recipe in ("sft", "starter") and not data:
        raise SpecError(f"The recipe '{recipe}' needs --data.")
    if recipe == "sft":
        chosen = {
            "epochs": epochs, "steps": steps, "batch": batch, "max_length": max_length, "rate": rate, "seed": seed,
            "gradient_checkpointing": gradient_checkpointing,
        }  # fmt: skip
        given = {name: value for name, value in chosen.items() if value}
        given |= {"precision": _one_of("--precision", precision, ("bf16", "fp32")), "device": _device(settings, device)}
        work = _sft(settings, data, start or "starter", folder, formulation, module, preset, window, lora, given)
    elif recipe == "starter":
        numbers = {
            "steps": steps, "window": window, "seed": seed, "adapter_steps": adapter_steps,
            "one_pass_steps": one_pass_steps, "generated": generated, "fits": tuple(only),
        }  # fmt: skip
        work = _starter(data, start, folder, {name: value for name, value in numbers.items() if value})
    elif recipe == "experts":
        if data:
            raise SpecError("The recipe 'experts' generates its data: leave out --data.")
        work = experts(folder, only, profile, steps, seed)
    else:
        raise unknown("recipe", recipe, RECIPES)
    job = Train(work)
    submit_and_finish(settings, job, None, windows=len(job.windows()), priority=priority, again=again, follow=follow)


def _sft(
    settings: Settings, data: list[str], start: str, folder: Path, formulation: str, module: str, preset: str,
    window: int, lora: int, given: dict[str, Any],
) -> Recipe:  # fmt: skip
    from lumos_queue.training.engine.spec import LoraShape
    from lumos_queue.training.recipes.sft import find_data, sft

    if lora:
        given["lora"] = LoraShape(rank=lora)
    builds = [find_data(settings, text) for text in data]
    return sft(builds, start, folder, formulation, module=module, preset=preset, window=window, **given)


def _starter(data: list[str], start: str, folder: Path, given: dict[str, Any]) -> Recipe:
    from lumos_queue.errors import SpecError, unknown
    from lumos_queue.training.recipes.starter import FORMULATIONS, starter

    if len(data) > 1:
        raise SpecError("The recipe 'starter' reads one folder: give --data once.")
    for name in given.get("fits", ()):
        if name not in FORMULATIONS:
            raise unknown("fit of the starter", name, FORMULATIONS)
    return starter(Path(data[0]), folder, Path(start) if start else None, **given)


def _one_of(option: str, value: str, allowed: tuple[str, ...]) -> str:
    from lumos_queue.errors import unknown

    if value not in allowed:
        raise unknown(f"value of {option}", value, allowed)
    return value


def _device(settings: Settings, device: str) -> str:
    """`cpu` or `cuda`. Raises SpecError for a GPU that is not there, where this machine does the work itself."""
    import torch

    from lumos_queue.errors import SpecError

    _one_of("--device", device, ("cpu", "cuda", AUTO))
    if device == AUTO:
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda" and not settings.broker_url and not torch.cuda.is_available():
        raise SpecError("--device cuda: this machine has no GPU, and without a broker the fit runs here.")
    return device
