"""Commands that submit a job: evaluate, infer, convert, train."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output
from lumos_queue.cli.looking import show_reports


def finish(settings, identifier: str, code: int, follow: bool) -> None:
    """The last word of a submitting command: the report, or the id alone where nobody waits for it."""
    if follow:
        show_reports(settings, [identifier])
    elif output.as_json:
        output.emit({"job": identifier})
    else:
        print(identifier)
    raise typer.Exit(code)


def _inference(kind: str):
    """The command of one of the two kinds that take the same options."""

    def command(
        benchmark: opt.Benchmark, data: opt.Data = None, split: opt.Split = "test",
        formulation: opt.Formulation = "iterative", agent: opt.AgentName = "", planner: opt.Planner = "",
        grounder: opt.Grounder = "", limit: opt.Limit = 0, samples: opt.Samples = 1,
        seed: opt.Seed = 0, temperature: opt.Temperature = 0.0, top_p: opt.TopP = 1.0, max_tokens: opt.MaxTokens = 512,
        max_subgoals: opt.MaxSubgoals = 8, framing: opt.Framing = "train", skip_bad_rows: opt.SkipBad = False,
        again: opt.Again = False, follow: opt.Follow = False, priority: opt.Priority = 0, json: opt.Json = False,
    ) -> None:  # fmt: skip
        from lumos_queue.cli.requests import Options, inference
        from lumos_queue.cli.run import submit_and_run
        from lumos_queue.settings import read_settings

        settings = read_settings()
        options = Options(
            benchmark, data, split, formulation, agent, planner, grounder, limit, samples, seed, temperature, top_p,
            max_tokens, max_subgoals, framing, skip_bad_rows,
        )  # fmt: skip
        job, rows = inference(kind, options, settings)
        follow = follow or not settings.broker_url
        identifier, code = submit_and_run(settings, job, rows, priority=priority, again=again, follow=follow)
        finish(settings, identifier, code, follow)

    return command


evaluate, infer = _inference("evaluate"), _inference("infer")


def convert(
    benchmark: opt.Benchmark, data: opt.Data = None, split: opt.Split = "train", limit: opt.Limit = 0,
    deterministic: Annotated[bool, typer.Option("--deterministic", help="By rule, without a model.")] = False,
    skip_bad_rows: opt.SkipBad = False, again: opt.Again = False, follow: opt.Follow = False,
    priority: opt.Priority = 0, json: opt.Json = False,
) -> None:  # fmt: skip
    """Turn gold rationales into annotated episodes, and act them out."""
    from lumos_queue.cli.requests import conversion
    from lumos_queue.cli.run import submit_and_run
    from lumos_queue.errors import SpecError
    from lumos_queue.settings import read_settings

    if not deterministic:
        raise SpecError("Conversion is by rule so far: say so with --deterministic.")
    settings = read_settings()
    job, rows = conversion(benchmark, data, split, limit, skip_bad_rows)
    follow = follow or not settings.broker_url
    identifier, code = submit_and_run(settings, job, rows, priority=priority, again=again, follow=follow)
    finish(settings, identifier, code, follow)


def train(
    recipe: Annotated[str, typer.Argument(help="starter: the model that comes with the project.")],
    data: Annotated[Path, typer.Option(help="Folder with the original files of gsm8k, mawps, asdiv and svamp.")],
    folder: Annotated[Path, typer.Option(help="For checkpoints and the model; every worker must see it.")],
    steps: Annotated[int, typer.Option(min=1, help="Optimizer steps of the iterative fit.")] = 6500,
    one_pass_steps: Annotated[int, typer.Option(min=1, help="Optimizer steps of the one-pass fit.")] = 1500,
    window: Annotated[int, typer.Option(min=1, help="Optimizer steps between checkpoints.")] = 250,
    generated: Annotated[int, typer.Option(min=1, help="wordmath problems to generate.")] = 40_000,
    again: opt.Again = False, follow: opt.Follow = False, priority: opt.Priority = 0, json: opt.Json = False,
) -> None:  # fmt: skip
    """Train a planner and grounder in windows that can be resumed."""
    from lumos_queue.cli.run import submit_and_run
    from lumos_queue.errors import SpecError, unknown
    from lumos_queue.jobs.train import Train
    from lumos_queue.settings import read_settings

    if recipe != "starter":
        raise unknown("recipe", recipe, ("starter",))
    for name in ("gsm8k", "mawps", "asdiv", "svamp"):
        if not (data / name).is_dir():
            raise SpecError(f"--data '{data}' has no folder '{name}': the recipe reads gsm8k, mawps, asdiv and svamp.")
    settings = read_settings()
    job = Train(recipe, str(data.resolve()), str(folder.resolve()), steps, one_pass_steps, window, generated)
    follow = follow or not settings.broker_url
    identifier, code = submit_and_run(
        settings, job, None, windows=len(job.windows()), priority=priority, again=again, follow=follow
    )
    finish(settings, identifier, code, follow)
