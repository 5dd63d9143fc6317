"""Commands that train models: each stores a training job. Training runs in windows of optimizer steps, and can be
resumed after each window.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli.submit import submit_and_finish
from lumos_queue.jobs.scheduling import Scheduling
from lumos_queue.util.model_loading import import_libraries

if TYPE_CHECKING:
    from db.tags import NameAndTags
    from lumos_queue.settings import Settings
    from lumos_queue.training.recipes.base import Recipe

Folder = Annotated[Path, typer.Option(help="For checkpoints and the model; all workers need access to it.")]
Window = Annotated[int, typer.Option(min=0, help="Optimizer steps between checkpoints; 0: the recipe's.")]
FitSeed = Annotated[int, typer.Option(min=0, max=opt.MAX_INTEGER, help="Seed of weights, order and dropout.")]


def train_sft(
    folder: Folder,
    data: Annotated[
        list[str],
        typer.Option(
            help="A build (its name or folder) or a JSON lines file. May be repeated; a repeated build counts twice."
        ),
    ],
    start: Annotated[
        str, typer.Option("--from", help="The model folder to start from, starter, or scratch.")
    ] = "starter",
    preset: Annotated[
        str,
        typer.Option(
            help="paper (all weights, as LUMOS), lora (adapters), scratch (a small model), planner (a smaller one, of "
            "plans of experts), tools (another, of tool agents), flan-t5-large, vicuna-7b or llama-2-13b (as "
            "OpenAGI). Default: scratch from scratch or starter, else paper."
        ),
    ] = "",
    formulation: Annotated[str, typer.Option(help="The formulation of a build to train on.")] = "iterative",
    module: Annotated[
        str, typer.Option(help="Train on the conversations of the planner, the grounder, or joint: both.")
    ] = "joint",
    epochs: Annotated[float, typer.Option(min=0.0, help="Passes over the data; 0: the preset's.")] = 0.0,
    steps: Annotated[int, typer.Option(min=0, help="Optimizer steps; 0: by the epochs.")] = 0,
    batch: Annotated[int, typer.Option(min=0, help="Conversations per optimizer step; 0: the preset's.")] = 0,
    max_length: Annotated[
        int, typer.Option(min=0, help="Maximum tokens of a conversation; the rest is cut off. 0: the preset's.")
    ] = 0,
    rate: Annotated[float, typer.Option(min=0.0, max=1.0, help="Peak learning rate; 0: the preset's.")] = 0.0,
    lora: Annotated[int, typer.Option(min=0, help="Rank of adapters; 0: the preset's.")] = 0,
    precision: Annotated[
        str,
        typer.Option(
            show_default="the faster on a CPU, else the preset's", help="Precision of matrix products: bf16 or fp32."
        ),
    ] = "",
    gradient_checkpointing: Annotated[
        bool, typer.Option("--gradient-checkpointing", help="Less memory, a third more time.")
    ] = False,
    device: Annotated[
        str,
        typer.Option(help="cpu, cuda, or auto: cuda where a live worker (without a broker: this machine) has a GPU."),
    ] = "auto",
    window: Window = 0,
    seed: FitSeed = 0,
    name: opt.Name = "",
    tag: opt.Tags = [],
    again: opt.Again = False,
    follow: opt.Follow = False,
    priority: opt.Priority = 0,
    json: opt.Json = False,
) -> None:
    """Train on builds."""
    from lumos_queue.settings import read_settings
    from lumos_queue.submission.fit_device import choose_device
    from lumos_queue.submission.fit_precision import choose_cpu_precision
    from lumos_queue.submission.tags import read_name_and_tags
    from lumos_queue.training.engine.spec import LoraShape
    from lumos_queue.training.recipes.sft import find_data, sft

    settings, name_and_tags = read_settings(), read_name_and_tags(name, tag)
    values = {
        "epochs": epochs,
        "steps": steps,
        "batch": batch,
        "max_length": max_length,
        "rate": rate,
        "seed": seed,
        "gradient_checkpointing": gradient_checkpointing,
        "lora": LoraShape(rank=lora) if lora else None,
    }
    overrides = {key: value for key, value in values.items() if value}
    overrides["device"] = choose_device(settings, device)
    if precision:
        overrides["precision"] = _require_choice("--precision", precision, ("bf16", "fp32"))
    else:
        overrides["cpu_precision"] = choose_cpu_precision(settings, overrides["device"])
    builds = [find_data(settings, text) for text in data]
    recipe = sft(builds, start, folder, formulation, module=module, preset=preset, window=window, **overrides)
    _submit(settings, recipe, name_and_tags=name_and_tags, scheduling=Scheduling(priority), again=again, follow=follow)


def train_starter(
    folder: Folder,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder with the original files of gsm8k, mawps, asdiv and svamp. Default: where `lumos data get` "
            "puts them."
        ),
    ] = None,
    start: Annotated[Path | None, typer.Option("--from", help="Model folder of the adapter's base.")] = None,
    only: Annotated[list[str], typer.Option(help="adapter, iterative or one-pass; repeatable. Default: all.")] = [],
    adapter_steps: Annotated[int, typer.Option(min=1, help="Optimizer steps of the adapter.")] = 800,
    steps: Annotated[int, typer.Option(min=1, help="Optimizer steps of the small model for iterative.")] = 6500,
    one_pass_steps: Annotated[int, typer.Option(min=1, help="Optimizer steps of the small model for one-pass.")] = 1500,
    generated: Annotated[int, typer.Option(min=1, help="wordmath problems to choose from.")] = 40_000,
    window: Window = 0,
    seed: FitSeed = 7,
    name: opt.Name = "",
    tag: opt.Tags = [],
    again: opt.Again = False,
    follow: opt.Follow = False,
    priority: opt.Priority = 0,
    json: opt.Json = False,
) -> None:
    """Train the models that come with the project."""
    from lumos_queue.settings import read_settings
    from lumos_queue.submission.fit_precision import choose_cpu_precision
    from lumos_queue.submission.tags import read_name_and_tags
    from lumos_queue.training.recipes.starter import FORMULATIONS, Starter, starter

    name_and_tags = read_name_and_tags(name, tag)
    fits = {"fits": tuple(_require_choice("--only", fit, tuple(FORMULATIONS)) for fit in only)} if only else {}
    settings = read_settings()
    recipe = starter(
        data or settings.home / "data",
        folder,
        start,
        window=window,
        seed=seed,
        adapter_steps=adapter_steps,
        steps=steps,
        one_pass_steps=one_pass_steps,
        generated=generated,
        precision=choose_cpu_precision(settings, Starter.device),
        **fits,
    )
    _submit(settings, recipe, name_and_tags=name_and_tags, scheduling=Scheduling(priority), again=again, follow=follow)


def train_experts(
    folder: Folder,
    only: Annotated[
        list[str], typer.Option(help="An expert, such as image-denoising; may be repeated. Default: all.")
    ] = [],
    profile: Annotated[str, typer.Option(help="How strongly pictures are changed: released, strong or both.")] = "both",
    steps: Annotated[int, typer.Option(min=0, help="Optimizer steps; 0: 200 to 1500.")] = 0,
    seed: FitSeed = 0,
    name: opt.Name = "",
    tag: opt.Tags = [],
    again: opt.Again = False,
    follow: opt.Follow = False,
    priority: opt.Priority = 0,
    json: opt.Json = False,
) -> None:
    """Train small networks as experts.

    Trains them one after the other. Use them with --tool experts=own:FOLDER.
    """
    from lumos_queue.settings import read_settings
    from lumos_queue.submission.tags import read_name_and_tags

    with import_libraries():
        from lumos_queue.training.recipes.experts import experts

    name_and_tags = read_name_and_tags(name, tag)
    recipe = experts(folder, only, profile, steps, seed)
    _submit(
        read_settings(),
        recipe,
        name_and_tags=name_and_tags,
        scheduling=Scheduling(priority),
        again=again,
        follow=follow,
    )


def train_rltf(
    benchmark: opt.Benchmark,
    folder: Folder,
    start: Annotated[Path, typer.Option("--from", help="The model folder to start from, such as what sft wrote.")],
    split: Annotated[str, typer.Option(help="The split of the tasks.")] = "train",
    formulation: Annotated[
        str, typer.Option(help="How tasks are attempted; its first role learns.")
    ] = "model-synthesis",
    preset: Annotated[
        str, typer.Option(help="planner (a small model), or as the paper: flan-t5-large, vicuna-7b, llama-2-13b.")
    ] = "planner",
    reward: Annotated[
        str, typer.Option(help="The score that is the reward: a metric, or an overall score. Default: the benchmark's.")
    ] = "",
    epochs: Annotated[int, typer.Option(min=0, help="Passes over the tasks; 0: the preset's.")] = 0,
    batch: Annotated[int, typer.Option(min=0, help="Tasks per optimizer step; 0: the preset's.")] = 0,
    samples: Annotated[int, typer.Option(min=1, max=1000, help="Rollouts of each task.")] = 1,
    rate: Annotated[float, typer.Option(min=0.0, max=1.0, help="Peak learning rate; 0: the preset's.")] = 0.0,
    beams: Annotated[int, typer.Option(min=0, max=1000, help="Plans to choose from; 0: the preset's.")] = 0,
    epsilon: Annotated[
        float | None,
        typer.Option(
            min=0.0, max=1.0, help="Probability of another than the best plan, at the first step. Default: 0.2."
        ),
    ] = None,
    epsilon_decay: Annotated[float, typer.Option(min=0.0, max=1.0, help="The factor of epsilon at each step.")] = 0.9,
    temperature: Annotated[
        float | None,
        typer.Option(min=0.0, help="Sample rollouts with this temperature instead of choosing among beams."),
    ] = None,
    momentum: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Momentum of the baseline, a moving average.")
    ] = 0.9,
    baseline: Annotated[
        str,
        typer.Option(
            help="What is subtracted from rewards: moving (average of earlier rewards), or none; released: the update "
            "of the paper's code, with --batch 1."
        ),
    ] = "",
    no_baseline: Annotated[bool, typer.Option("--no-baseline", help="The same as --baseline none.")] = False,
    shuffle_rewards: Annotated[
        bool, typer.Option("--shuffle-rewards", help="Shuffle rewards within a step: a control that must not learn.")
    ] = False,
    infeasible: Annotated[float, typer.Option(help="Reward of a plan that cannot run.")] = -1.0,
    lora: Annotated[int, typer.Option(min=0, help="Rank of adapters; 0: the preset's.")] = 0,
    data: opt.Data = None,
    limit: opt.Limit = 0,
    option: opt.RowOptions = [],
    grounder: opt.Grounder = "",
    role: opt.Roles = [],
    tool: opt.ToolOptions = [],
    setting: opt.SettingOptions = [],
    max_tokens: opt.MaxTokens = 512,
    max_subgoals: opt.MaxSubgoals = 0,
    skip_bad_rows: opt.SkipBad = False,
    device: Annotated[
        str,
        typer.Option(help="cpu, cuda, or auto: cuda where a live worker (without a broker: this machine) has a GPU."),
    ] = "cpu",
    seed: FitSeed = 0,
    name: opt.Name = "",
    tag: opt.Tags = [],
    again: opt.Again = False,
    follow: opt.Follow = False,
    priority: opt.Priority = 0,
    json: opt.Json = False,
) -> None:
    """Train a model on the rewards of its attempts.

    Each optimizer step evaluates the newest checkpoint on a batch of tasks in a separate job, which `lumos jobs` lists.
    """
    from lumos_queue.cli import output
    from lumos_queue.settings import read_settings
    from lumos_queue.submission.fit_device import choose_device
    from lumos_queue.submission.requests.inference import InferenceRequest
    from lumos_queue.submission.rltf_request import RltfOptions, make_rltf_job, read_baseline
    from lumos_queue.submission.tags import read_name_and_tags
    from lumos_queue.training.engine.spec import LoraShape

    settings, name_and_tags = read_settings(), read_name_and_tags(name, tag)
    evaluation = InferenceRequest(
        benchmark=benchmark,
        data=data,
        split=split,
        formulation=formulation,
        grounder=grounder,
        limit=limit,
        max_tokens=max_tokens,
        max_subgoals=max_subgoals,
        skip_bad_rows=skip_bad_rows,
        roles=tuple(role),
        tools=tuple(tool),
        options=tuple(option),
        settings=tuple(setting),
    )
    values = {"epochs": epochs, "batch": batch, "rate": rate, "lora": LoraShape(rank=lora) if lora else None}
    overrides = {key: value for key, value in values.items() if value} | {
        "samples": samples,
        "epsilon_decay": epsilon_decay,
        "momentum": momentum,
        "seed": seed,
        "baseline": read_baseline(baseline, no_baseline),
        "shuffle": shuffle_rewards,
        "infeasible": infeasible,
        "device": choose_device(settings, device),
    }
    options = RltfOptions(start, folder, preset, reward, beams, epsilon, temperature, overrides)
    job, rows = make_rltf_job(options, evaluation, settings, output.say)
    submit_and_finish(
        settings,
        job,
        rows,
        name_and_tags=name_and_tags,
        windows=len(job.windows()),
        scheduling=Scheduling(priority),
        again=again,
        follow=follow,
    )


def _submit(
    settings: Settings, recipe: Recipe, *, name_and_tags: NameAndTags, scheduling: Scheduling, again: bool, follow: bool
) -> None:
    from lumos_queue.jobs.train import Train

    job = Train(recipe)
    submit_and_finish(
        settings,
        job,
        None,
        name_and_tags=name_and_tags,
        windows=len(job.windows()),
        scheduling=scheduling,
        again=again,
        follow=follow,
    )


def _require_choice(option: str, value: str, allowed_values: tuple[str, ...]) -> str:
    from lumos_queue.errors import unknown

    if value not in allowed_values:
        raise unknown(f"value of {option}", value, allowed_values)
    return value
