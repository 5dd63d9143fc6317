"""Commands that submit a job: evaluate, infer, train."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output
from lumos_queue.cli.jobs import show_reports

if TYPE_CHECKING:
    from lumos_queue.jobs.base import Job
    from lumos_queue.settings import Settings
    from lumos_queue.submission.store import Rows


def submit_and_finish(
    settings: Settings, job: Job, rows: Rows | None, *, windows: int = 0, priority: int, again: bool, follow: bool
) -> None:
    """The last step of a command that submits a job: store it, run or queue it, and print its report or its id."""
    from lumos_queue.cli.run import submit_and_run

    follow = follow or not settings.broker_url
    identifier, code = submit_and_run(
        settings, job, rows, windows=windows, priority=priority, again=again, follow=follow
    )
    finish(settings, identifier, code, follow)


def finish(settings: Settings, identifier: str, code: int, follow: bool) -> None:
    """Print the job's report, or its id alone if the command does not wait for the result, and exit."""
    if follow:
        incomplete = show_reports(settings, [identifier])
        code = code or incomplete
    elif output.as_json:
        output.emit({"job": identifier})
    else:
        output.show(identifier)
    raise typer.Exit(code)


def _inference_command(kind: str) -> Callable[..., None]:
    """The command of a job of kind 'evaluate' or 'infer': both take the same options."""

    def command(
        benchmark: opt.Benchmark, data: opt.Data = None, split: opt.Split = "test",
        formulation: opt.Formulation = "iterative", agent: opt.AgentName = "", planner: opt.Planner = "",
        grounder: opt.Grounder = "", solver: opt.Solver = "", limit: opt.Limit = 0, samples: opt.Samples = 1,
        seed: opt.Seed = 0, temperature: opt.Temperature = 0.0, top_p: opt.TopP = 1.0, max_tokens: opt.MaxTokens = 512,
        max_subgoals: opt.MaxSubgoals = 0, framing: opt.Framing = "train", skip_bad_rows: opt.SkipBad = False,
        role: opt.Roles = [], tool: opt.ToolOptions = [], option: opt.RowOptions = [],
        shots: opt.Shots = None, answer: opt.AnswerBy = "", live: opt.Live = False, replay: opt.Replay = "",
        draw: opt.Draw = 0, sets: opt.Sets = 0, at_limit: opt.AtLimit = "",
        setting: opt.SettingOptions = [], sampling: opt.Samplings = [], yes: opt.Yes = False,
        again: opt.Again = False, follow: opt.Follow = False, priority: opt.Priority = 0, json: opt.Json = False,
    ) -> None:  # fmt: skip
        from lumos_queue.settings import read_settings
        from lumos_queue.submission.job_request import InferenceOptions, make_inference_job

        settings = read_settings()
        options = InferenceOptions(
            benchmark=benchmark,
            data=data,
            split=split,
            formulation=formulation,
            agent=agent,
            planner=planner,
            grounder=grounder,
            solver=solver,
            limit=limit,
            samples=samples,
            seed=seed,
            temperature=temperature,
            top_p=top_p,
            max_tokens=max_tokens,
            max_subgoals=max_subgoals,
            framing=framing,
            skip_bad_rows=skip_bad_rows,
            roles=role,
            tools=tool,
            options=option,
            shots=shots,
            answer_by=answer,
            live=live,
            replay=replay,
            draw=draw,
            sets=sets,
            at_limit=at_limit,
            settings=setting,
            samplings=sampling,
            yes=yes,
        )
        job, rows = make_inference_job(kind, options, settings, output.say)
        submit_and_finish(settings, job, rows, priority=priority, again=again, follow=follow)

    return command


evaluate, infer = _inference_command("evaluate"), _inference_command("infer")


def train(
    recipe: Annotated[str, typer.Argument(
        help="sft: train on builds. starter: train the models that come with the project. experts: train small "
             "networks for --tool experts=own:FOLDER.")],
    folder: Annotated[Path, typer.Option(help="For checkpoints and the model; all workers need access to it.")],
    data: Annotated[list[str], typer.Option(
        help="sft: a build (its name or folder) or a JSON lines file; may be repeated, one given twice counts "
             "twice. starter: the folder with the original files of gsm8k, mawps, asdiv and svamp.")] = [],
    start: Annotated[str, typer.Option(
        "--from", help="sft: the model folder to start from, starter, or scratch.")] = "starter",
    formulation: Annotated[str, typer.Option(help="sft: which of a build's formulations to train on.")] = "iterative",
    steps: Annotated[int, typer.Option(
        min=0, help="Optimizer steps; 0: sft 500, starter 6500 (iterative), experts 200 to 1500 each.")] = 0,
    window: Annotated[int, typer.Option(min=1, help="Optimizer steps between checkpoints.")] = 250,
    rate: Annotated[float, typer.Option(
        min=0.0, max=1.0, help="sft: peak learning rate of the matrices; 0: 0.005, from scratch 0.02.")] = 0.0,
    seed: Annotated[int, typer.Option(
        min=0, max=opt.MAX_INTEGER, help="sft, experts: seed of weights, batches and dropout.")] = 0,
    one_pass_steps: Annotated[int, typer.Option(min=1, help="starter: optimizer steps of the one-pass model.")] = 1500,
    generated: Annotated[int, typer.Option(min=1, help="starter: wordmath problems to generate.")] = 40_000,
    only: Annotated[list[str], typer.Option(
        help="experts: which one, such as image-denoising; may be repeated. Default: all 14.")] = [],
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
    from lumos_queue.training.recipes import experts, sft, starter
    from lumos_queue.training.recipes.registry import RECIPES

    settings = read_settings()
    if recipe in ("sft", "starter") and not data:
        raise SpecError(f"The recipe '{recipe}' needs --data.")
    if recipe == "sft":
        builds = [sft.find_data(settings, text) for text in data]
        rates = {"rate": rate} if rate else {}
        job = Train(
            sft.sft(builds, start, folder, formulation, steps=steps or sft.STEPS, window=window, seed=seed, **rates)
        )
    elif recipe == "starter":
        if len(data) > 1:
            raise SpecError("The recipe 'starter' reads one folder: give --data once.")
        numbers = {"steps": steps or starter.STEPS, "one_pass_steps": one_pass_steps, "generated": generated}
        job = Train(starter.starter(Path(data[0]), folder, window=window, **numbers))
    elif recipe == "experts":
        if data:
            raise SpecError("The recipe 'experts' generates its data: leave out --data.")
        job = Train(experts.experts(folder, only, profile, steps, seed))
    else:
        raise unknown("recipe", recipe, RECIPES)
    windows = len(job.windows())
    submit_and_finish(settings, job, None, windows=windows, priority=priority, again=again, follow=follow)
