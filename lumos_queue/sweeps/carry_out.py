"""Carry out a sweep: annotate, build, train and evaluate, by jobs on which other processes may work.

The progress of a sweep is not stored. Because an equal request is the same job, and an equal build is the same folder,
the same command continues an interrupted sweep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from db.states import JobState
from lumos_queue.builds.options import BuildOptions
from lumos_queue.errors import SpecError
from lumos_queue.formulations.defaults import USUAL
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.jobs.base import Job
from lumos_queue.jobs.train import Train
from lumos_queue.settings import Settings
from lumos_queue.submission.build_request import make_build
from lumos_queue.submission.conversion_request import ConversionOptions, make_conversion_job
from lumos_queue.submission.database import database
from lumos_queue.submission.fit_precision import choose_cpu_precision
from lumos_queue.submission.inference_options import InferenceOptions
from lumos_queue.submission.job_request import make_inference_job
from lumos_queue.submission.request_options import check_stops, check_texts, read_system, read_template
from lumos_queue.submission.runs import SCHEME
from lumos_queue.submission.store import Rows
from lumos_queue.sweeps.plan import JOINT, AnnotationSource, Arm, SweepBenchmark, SweepPlan
from lumos_queue.training.recipes.sft import sft


@dataclass(frozen=True, slots=True)
class Submission:
    """A job that is to be submitted, with its rows or the number of its windows."""

    job: Job
    rows: Rows | None = None
    windows: int = 0


#: Stores jobs and works on them, or waits for processes that do; returns id and state of each, in order.
Work = Callable[[list[Submission]], list[tuple[str, str]]]


@dataclass(slots=True)
class SweepFit:
    """A combination of an arm and a seed, with its training jobs by module and its evaluations by benchmark."""

    arm: Arm
    seed: int
    trained: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)  #: module to the state of its job, if it is not done
    evaluated: dict[str, str] = field(default_factory=dict)


def carry_out(
    plan: SweepPlan, data: Path, folder: Path, settings: Settings, work: Work, say: Callable[[str], None]
) -> tuple[list[SweepFit], dict[str, int]]:
    """Carry out the whole sweep. Return the fits, and the number of training episodes of each annotation source.

    If a training job fails, its fit has no scores, and the other fits continue. Raises SpecError for a request that
    cannot be carried out, for a failed annotation, and for too few rows. `data`: the folder of the plan's data files.
    """
    check_requests(plan, data)
    builds, sizes = _make_builds(plan, data, folder, settings, work, say)
    fits = [SweepFit(arm, seed) for arm in plan.arms() for seed in plan.seeds]
    _train(plan, fits, builds, folder, settings, work, say)
    for benchmark in plan.benchmarks:
        able = [fit for fit in fits if not fit.failed]
        say(f"evaluating {len(able)} agents on {benchmark.label}")
        submissions = [_evaluation(fit, benchmark, data, settings, say) for fit in able]
        for fit, (job, _) in zip(able, work(submissions), strict=True):
            fit.evaluated[benchmark.label] = job
    return fits, sizes


def _make_builds(
    plan: SweepPlan, data: Path, folder: Path, settings: Settings, work: Work, say: Callable[[str], None]
) -> tuple[dict[str, Path], dict[str, int]]:
    say(f"annotating: {', '.join(plan.annotations)}")
    submissions = [_annotation(source, data, settings, say) for source in plan.annotations.values()]
    builds, sizes = {}, {}
    for (name, source), (job, state) in zip(plan.annotations.items(), work(submissions), strict=True):
        if state != JobState.DONE:
            raise SpecError(f"The job {job}, which annotates '{name}', is {state}: see lumos job {job}")
        where = f"job={job} level>=executed" if source.convert else f"job={job} score=1"
        options = BuildOptions(where=where, formulations=tuple(plan.formulations), rows=plan.rows)
        builds[name] = folder / "builds" / name
        with database(settings) as build_database:
            manifest, _ = make_build(build_database, name, builds[name], options)
        sizes[name] = manifest["episodes"]["used"]
        if sizes[name] < plan.rows:
            raise SpecError(f"The annotation '{name}' has {sizes[name]} rows, but rows = {plan.rows}: raise its limit.")
    return builds, sizes


def _annotation(source: AnnotationSource, data: Path, settings: Settings, say: Callable[[str], None]) -> Submission:
    path = data / source.data if source.data else None
    if source.convert:
        options = ConversionOptions(
            source=source.convert,
            data=path,
            split=source.split,
            limit=source.limit,
            deterministic=True,
            teacher="",
            subgoals=source.subgoals,
            reasks=1,
            seed=0,
            temperature=0.0,
            max_tokens=800,
            price_prompt=0.0,
            price_completion=0.0,
            budget=0.0,
            perturbations=0,
            longest=1024,
            tokenizer=None,
            skip_bad_rows=False,
            options=[],
            vision="",
        )
        return Submission(*make_conversion_job(options, settings, say))
    make_options = _inference(source.evaluate, source.split, path, source.limit, USUAL, 128)
    return Submission(*make_inference_job("evaluate", make_options(agent=source.agent), settings, say))


def _train(
    plan: SweepPlan,
    fits: list[SweepFit],
    builds: dict[str, Path],
    folder: Path,
    settings: Settings,
    work: Work,
    say: Callable[[str], None],
) -> None:
    parts = [(fit, module) for fit in fits for module in _modules(fit.arm)]
    say(f"training {len(parts)} models")
    values = plan.fit.model_dump(exclude={"start", "preset", "lora"}, exclude_defaults=True)
    if plan.fit.lora:
        from lumos_queue.training.engine.spec import LoraShape

        values["lora"] = LoraShape(rank=plan.fit.lora)
    values["cpu_precision"] = choose_cpu_precision(settings, plan.fit.device)
    submissions = []
    for fit, module in parts:
        name = "-".join((fit.arm.annotation, fit.arm.formulation, module, str(fit.seed)))
        recipe = sft(
            [builds[fit.arm.annotation]],
            plan.fit.start,
            folder / "fits" / name,
            fit.arm.formulation,
            module=module,
            preset=plan.fit.preset,
            seed=fit.seed,
            **values,
        )
        job = Train(recipe)
        submissions.append(Submission(job, windows=len(job.windows())))
    for (fit, module), (job, state) in zip(parts, work(submissions), strict=True):
        fit.trained[module] = job
        if state != JobState.DONE:
            fit.failed[module] = state


def _modules(arm: Arm) -> Iterator[str]:
    if arm.modules == JOINT:
        return iter((JOINT,))
    return iter(FORMULATIONS.load(arm.formulation).roles)


def _evaluation(
    fit: SweepFit, benchmark: SweepBenchmark, data: Path, settings: Settings, say: Callable[[str], None]
) -> Submission:
    roles = FORMULATIONS.load(fit.arm.formulation).roles
    runs = {role: f"{SCHEME}{fit.trained.get(role) or fit.trained[JOINT]}" for role in roles}
    options = evaluation_options(benchmark, fit.arm.formulation, data, runs)
    return Submission(*make_inference_job("evaluate", options, settings, say))


def evaluation_options(
    benchmark: SweepBenchmark, formulation: str, data: Path, models: Mapping[str, str]
) -> InferenceOptions:
    """Return the options that evaluate a fit. `models`: addresses by role. Raises SpecError for an unreadable file."""
    path = data / benchmark.data if benchmark.data else None
    make_options = _inference(benchmark.name, benchmark.split, path, benchmark.limit, formulation, benchmark.max_tokens)
    return replace(
        make_options(**models),
        stop=benchmark.stop,
        system=read_system(benchmark.system),
        prompt=read_template(data / benchmark.prompt if benchmark.prompt else "") or "",
    )


def check_requests(plan: SweepPlan, data: Path) -> None:
    """Raise SpecError, before any training, if stop strings or texts of a benchmark cannot be sent to models."""
    for benchmark in plan.benchmarks:
        for formulation in plan.formulations:
            options = evaluation_options(benchmark, formulation, data, {})
            check_stops(options.stop)
            check_texts(FORMULATIONS.load(formulation), options.system, options.prompt, options.shots)


def _inference(
    benchmark: str, split: str, data: Path | None, limit: int, formulation: str, max_tokens: int
) -> Callable[..., InferenceOptions]:
    def options(agent: str = "", planner: str = "", grounder: str = "", solver: str = "") -> InferenceOptions:
        return InferenceOptions(
            benchmark=benchmark,
            data=data,
            split=split,
            formulation=formulation,
            agent=agent,
            planner=planner,
            grounder=grounder,
            solver=solver,
            limit=limit,
            samples=1,
            seed=0,
            temperature=0.0,
            top_p=1.0,
            max_tokens=max_tokens,
            max_subgoals=0,
            framing="train",
            skip_bad_rows=False,
        )

    return options
