"""Make a job from the options of `lumos train rltf`: its tasks, their rollouts and their reward."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from db.kinds.job_kinds import JobKind
from lumos_queue.benchmarks.registry import is_test, is_test_task, open_benchmark
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.endpoints.base import Sampling
from lumos_queue.errors import SpecError, unknown
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.rewards import metric_of
from lumos_queue.jobs.train import Train
from lumos_queue.records import Role
from lumos_queue.submission.fit_device import choose_device
from lumos_queue.submission.job_request import Basis, make_inference_job
from lumos_queue.submission.requests.checks import check_request
from lumos_queue.submission.requests.inference import InferenceRequest
from lumos_queue.submission.requests.option import list_options
from lumos_queue.submission.requests.training import RltfRequest
from lumos_queue.submission.store import Rows
from lumos_queue.training.engine.control import FitControl
from lumos_queue.training.engine.spec import LoraShape
from lumos_queue.training.recipes.rltf import RELEASED, RltfSpec, rltf
from lumos_queue.training.rltf_presets import PRESETS
from lumos_queue.training.trackers.names import check_trackers

#: Default settings of a formulation whose planner can be searched.
_SEARCHED = {"decoding": "constrained", "schema": "fine-tuning"}

#: Fields of an evaluation that the request of a training may have. Its other fields of these names are of the fit.
_OF_EVALUATION = {option.field for option in list_options(InferenceRequest)} - {
    "samples",
    "seed",
    "temperature",
    "max_tokens",
}
_BASELINES: dict[str, bool | str] = {"moving": True, "none": False, RELEASED: RELEASED}


def make_rltf_job(request: RltfRequest, deployment: Deployment, remark: Callable[[str], None]) -> tuple[Train, Rows]:
    """Return the job and the rows that it learns from.

    Raises SpecError for options that `lumos evaluate` would refuse, for a reward that no task has, and the errors of
    `rltf`.
    """
    check_request(request)
    evaluation = _make_evaluation(request)
    if request.preset not in PRESETS:
        raise unknown("preset", request.preset, PRESETS)
    preset = PRESETS[request.preset]
    if not request.start.is_dir():
        raise SpecError(f"No folder '{request.start}': --from names a Hugging Face model folder to start from.")
    benchmark = open_benchmark(evaluation.benchmark)
    if is_test(evaluation.benchmark, evaluation.split):
        raise SpecError(f"The split '{evaluation.split}' of '{benchmark.name}' is a test split: learn from another.")
    formulation = FORMULATIONS.load(evaluation.formulation)
    trained_role = formulation.roles[0]
    is_searched = "candidates" in formulation.settings
    temperature = (0.0 if is_searched else 1.0) if request.temperature is None else request.temperature
    setting_names = {pair.partition("=")[0] for pair in evaluation.settings}
    setting_pairs = list(evaluation.settings)
    samplings: list[str] = []
    if is_searched:
        setting_pairs += [f"{name}={value}" for name, value in _SEARCHED.items() if name not in setting_names]
    if temperature > 0:
        samplings += [f"{trained_role}.temperature={temperature}"]
        if request.beams:
            raise SpecError("--beams is for a search, which needs temperature 0: leave out --temperature, or --beams.")
        if request.epsilon is not None:
            raise SpecError("--epsilon draws among the plans of a search: leave out --temperature, or --epsilon.")
    elif is_searched:
        beams = request.beams or preset.beams
        setting_pairs += [] if "candidates" in setting_names else [f"candidates={beams}"]
        samplings += [f"{trained_role}.beams={beams}"]
    else:
        raise SpecError(
            f"Rollouts of '{formulation.name}' have to be sampled: give --temperature 1. Without it every try of a "
            "task would be the same."
        )
    sampling = Sampling(max_tokens=request.max_tokens)
    if sampling != Sampling():  # also where the formulation has its own limit
        samplings += [f"{trained_role}.max_tokens={sampling.max_tokens}"]
    model = f"local:{request.start}"
    model_option = (
        {Role.PLANNER: model}
        if trained_role == Role.PLANNER
        else {Role.SOLVER: model}
        if trained_role == Role.SOLVER
        else {}
    )
    rollouts = replace(
        evaluation,
        **model_option,
        roles=(*evaluation.roles, *(() if model_option else (f"{trained_role}={model}",))),
        settings=tuple(setting_pairs),
        samplings=tuple(samplings),
    )
    job, rows = make_inference_job(JobKind.EVALUATE, rollouts, deployment, remark, basis=Basis(sampling=sampling))
    assert isinstance(job, Evaluate)
    reward = request.reward or benchmark.reward or benchmark.metrics[0]
    metric = metric_of(benchmark, reward)
    if temperature == 0 and formulation.read_settings(job.infer.agent)["candidates"] < 2:
        raise SpecError(
            "--setting candidates=1 leaves nothing to choose from: every try of a task would be the same. Ask for more."
        )
    tasks = rows.tasks[: evaluation.limit or None]
    training_tasks = {position: task for position, task in enumerate(tasks) if not is_test_task(task, evaluation.split)}
    if excluded_count := len(tasks) - len(training_tasks):
        remark(f"{excluded_count} of {len(tasks)} tasks are left out: they are test tasks")
    positions = [position for position, task in training_tasks.items() if metric(task)]
    if not positions:
        raise SpecError(
            f"No task of '{evaluation.benchmark}' ({evaluation.split}) has the reward '{reward}': choose another "
            "with --reward."
        )
    if excluded_count := len(training_tasks) - len(positions):
        remark(f"{excluded_count} of {len(tasks)} tasks are left out: no scorer or gold answer for '{reward}' exists")
    epsilon = 0.0 if temperature > 0 else preset.spec.epsilon if request.epsilon is None else request.epsilon
    spec = _make_spec(request, preset.spec, epsilon, deployment)
    if spec.shuffle and spec.batch * spec.samples == 1:
        raise SpecError("--shuffle-rewards needs several rewards in a step: give a --batch or --samples above 1.")
    if spec.is_released and (spec.batch, spec.samples) != (1, 1):
        raise SpecError(
            "--baseline released takes an optimizer step for each plan: give --batch 1 and --samples 1, not "
            f"{spec.batch} and {spec.samples}."
        )
    infer = job.infer.as_json() | {"limit": 0}
    check_trackers(request.report_to, is_local=not deployment.broker)
    control = FitControl(report_to=request.report_to)
    recipe = rltf(request.start, request.folder, infer, (trained_role,), positions, reward, spec, control)
    return Train(recipe), rows


def _make_evaluation(request: RltfRequest) -> InferenceRequest:
    """Return the evaluation that makes the rollouts, without a planner and without samplings."""
    names = {option.field for option in list_options(RltfRequest)} & _OF_EVALUATION
    return InferenceRequest(**{name: getattr(request, name) for name in names})


def _make_spec(request: RltfRequest, preset: RltfSpec, epsilon: float, deployment: Deployment) -> RltfSpec:
    """Return the settings of the fit. Raises SpecError for a baseline or a device that cannot be used."""
    return replace(
        preset,
        epochs=request.epochs or preset.epochs,
        batch=request.batch or preset.batch,
        rate=request.rate or preset.rate,
        lora=LoraShape(rank=request.lora) if request.lora else preset.lora,
        samples=request.samples,
        epsilon=epsilon,
        epsilon_decay=request.epsilon_decay,
        momentum=request.momentum,
        seed=request.seed,
        baseline=_read_baseline(request.baseline, request.no_baseline),
        shuffle=request.shuffle_rewards,
        infeasible=request.infeasible,
        device=choose_device(deployment, request.device),
    )


def _read_baseline(name: str, no_baseline: bool) -> bool | str:
    """Return `RltfSpec.baseline` for --baseline NAME; '': moving, or none with --no-baseline. Raises SpecError."""
    if name and name not in _BASELINES:
        raise unknown("baseline", name, _BASELINES)
    if no_baseline and name not in ("", "none"):
        raise SpecError(f"--no-baseline contradicts --baseline {name}: leave out one of the two.")
    return _BASELINES["none" if no_baseline else name or "moving"]
