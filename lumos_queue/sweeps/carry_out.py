"""Carry out a sweep: annotate, build, train and evaluate, by jobs on which other processes may work.

The progress of a sweep is not stored. Because an equal request is the same job, and an equal build is the same folder,
the same command continues an interrupted sweep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from db.kinds.job_kinds import JobKind
from db.kinds.states import JobState
from lumos_queue.builds.options import BuildOptions
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.endpoints.base import Sampling
from lumos_queue.errors import SpecError
from lumos_queue.formulations.defaults import USUAL
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.jobs.base import Job
from lumos_queue.jobs.train import Train
from lumos_queue.submission.build_request import make_build
from lumos_queue.submission.conversion_request import make_conversion_job
from lumos_queue.submission.file_request import FileRequest
from lumos_queue.submission.job_request import Basis, make_inference_job, read_texts
from lumos_queue.submission.request_options import check_stops, check_texts
from lumos_queue.submission.requests.inference import InferenceRequest
from lumos_queue.submission.runs import SCHEME
from lumos_queue.submission.store import Rows
from lumos_queue.submission.training_request import make_sft
from lumos_queue.sweeps.plan import JOINT, MAX_TOKENS, AnnotationSource, Arm, SweepPlan, label_of


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
    plan: SweepPlan, data: Path, folder: Path, deployment: Deployment, work: Work, say: Callable[[str], None]
) -> tuple[list[SweepFit], dict[str, int]]:
    """Carry out the whole sweep. Return the fits, and the number of training episodes of each annotation source.

    If a training job fails, its fit has no scores, and the other fits continue. Raises SpecError for a request that
    cannot be carried out, for a failed annotation, and for too few rows. `data`: the folder of the plan's data files.
    """
    check_requests(plan, data)
    builds, sizes = _make_builds(plan, data, folder, deployment, work, say)
    fits = [SweepFit(arm, seed) for arm in plan.arms() for seed in plan.seeds]
    _train(plan, fits, builds, folder, deployment, work, say)
    for benchmark in plan.benchmarks:
        able = [fit for fit in fits if not fit.failed]
        label = label_of(benchmark)
        say(f"evaluating {len(able)} agents on {label}")
        submissions = [_evaluation(fit, benchmark, data, deployment, say) for fit in able]
        for fit, (job, _) in zip(able, work(submissions), strict=True):
            fit.evaluated[label] = job
    return fits, sizes


def _make_builds(
    plan: SweepPlan, data: Path, folder: Path, deployment: Deployment, work: Work, say: Callable[[str], None]
) -> tuple[dict[str, Path], dict[str, int]]:
    say(f"annotating: {', '.join(plan.annotations)}")
    submissions = [_annotation(source, data, deployment, say) for source in plan.annotations.values()]
    builds, sizes = {}, {}
    for (name, source), (job, state) in zip(plan.annotations.items(), work(submissions), strict=True):
        if state != JobState.DONE:
            raise SpecError(f"The job {job}, which annotates '{name}', is {state}: see lumos job {job}")
        where = f"job={job} level>=executed" if source.convert else f"job={job} score=1"
        options = BuildOptions(where=where, formulations=tuple(plan.formulations), rows=plan.rows)
        builds[name] = folder / "builds" / name
        manifest, _ = make_build(deployment.database, name, builds[name], options)
        sizes[name] = manifest["episodes"]["used"]
        if sizes[name] < plan.rows:
            raise SpecError(f"The annotation '{name}' has {sizes[name]} rows, but rows = {plan.rows}: raise its limit.")
    return builds, sizes


def _annotation(source: AnnotationSource, data: Path, deployment: Deployment, say: Callable[[str], None]) -> Submission:
    rows = source.request
    path = data / rows.data if rows.data else None
    if source.convert:
        file = FileRequest(source.convert, path, rows.split)
        return Submission(*make_conversion_job(rows, file, deployment.settings, say))
    request = InferenceRequest(
        source.evaluate, path, rows.split, USUAL, source.agent, limit=rows.limit, max_tokens=MAX_TOKENS
    )
    return _submit_evaluation(request, deployment, say)


def _train(
    plan: SweepPlan,
    fits: list[SweepFit],
    builds: dict[str, Path],
    folder: Path,
    deployment: Deployment,
    work: Work,
    say: Callable[[str], None],
) -> None:
    parts = [(fit, module) for fit in fits for module in _modules(fit.arm)]
    say(f"training {len(parts)} models")
    submissions = []
    for fit, module in parts:
        name = "-".join((fit.arm.annotation, fit.arm.formulation, module, str(fit.seed)))
        request = replace(
            plan.fit,
            data=(str(builds[fit.arm.annotation]),),
            folder=folder / "fits" / name,
            formulation=fit.arm.formulation,
            module=module,
            seed=fit.seed,
        )
        recipe = make_sft(request, deployment)
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
    fit: SweepFit, benchmark: InferenceRequest, data: Path, deployment: Deployment, say: Callable[[str], None]
) -> Submission:
    roles = FORMULATIONS.load(fit.arm.formulation).roles
    runs = {role: f"{SCHEME}{fit.trained.get(role) or fit.trained[JOINT]}" for role in roles}
    return _submit_evaluation(evaluation_request(benchmark, fit.arm.formulation, data, runs), deployment, say)


def evaluation_request(
    benchmark: InferenceRequest, formulation: str, data: Path, models: Mapping[str, str]
) -> InferenceRequest:
    """Return the request that evaluates a fit. `models`: addresses by role."""
    return replace(
        benchmark,
        formulation=formulation,
        data=data / benchmark.data if benchmark.data else None,
        prompt=str(data / benchmark.prompt) if benchmark.prompt else None,
        **models,
    )


def _submit_evaluation(request: InferenceRequest, deployment: Deployment, say: Callable[[str], None]) -> Submission:
    """Return the evaluation of a request, whose limit of tokens is a default: a formulation's own limits stay."""
    basis = Basis(sampling=Sampling(max_tokens=request.max_tokens or MAX_TOKENS))
    return Submission(
        *make_inference_job(JobKind.EVALUATE, replace(request, max_tokens=None), deployment, say, basis=basis)
    )


def check_requests(plan: SweepPlan, data: Path) -> None:
    """Raise SpecError, before any training, if stop strings or texts of a benchmark cannot be sent to models."""
    for benchmark in plan.benchmarks:
        for formulation in plan.formulations:
            request = read_texts(evaluation_request(benchmark, formulation, data, {}))
            check_stops(request.stop)
            check_texts(FORMULATIONS.load(formulation), request.system, request.prompt or "", request.shots)
