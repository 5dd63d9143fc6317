"""Make a job from the options of `lumos train rltf`: its tasks, their rollouts and their reward."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lumos_queue.benchmarks.registry import is_test, is_test_task, open_benchmark
from lumos_queue.endpoints.base import Sampling
from lumos_queue.errors import SpecError, unknown
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.rewards import metric_of
from lumos_queue.jobs.train import Train
from lumos_queue.settings import Settings
from lumos_queue.submission.job_request import Basis, make_inference_job
from lumos_queue.submission.requests.inference import InferenceRequest
from lumos_queue.submission.store import Rows
from lumos_queue.training.recipes.rltf import RELEASED, rltf
from lumos_queue.training.rltf_presets import PRESETS

#: Default settings of a formulation whose planner can be searched.
_SEARCHED = {"decoding": "constrained", "schema": "fine-tuning"}

_BASELINES: dict[str, bool | str] = {"moving": True, "none": False, RELEASED: RELEASED}


@dataclass(frozen=True, slots=True)
class RltfOptions:
    """The options of `lumos train rltf`, without the options of the evaluation that makes its rollouts."""

    start: Path
    folder: Path
    preset: str
    reward: str  #: '': the benchmark's own
    beams: int  #: 0: the preset's
    epsilon: float | None  #: None: the preset's
    temperature: float | None  #: of rollouts; 0: beams; None: 0 where the planner can be searched, else 1
    spec: dict[str, Any]  #: fields of RltfSpec that differ from the preset's


def read_baseline(name: str, no_baseline: bool) -> bool | str:
    """Return `RltfSpec.baseline` for --baseline NAME; '': moving, or none with --no-baseline. Raises SpecError."""
    if name and name not in _BASELINES:
        raise unknown("baseline", name, _BASELINES)
    if no_baseline and name not in ("", "none"):
        raise SpecError(f"--no-baseline contradicts --baseline {name}: leave out one of the two.")
    return _BASELINES["none" if no_baseline else name or "moving"]


def make_rltf_job(
    options: RltfOptions, evaluation: InferenceRequest, settings: Settings, remark: Callable[[str], None]
) -> tuple[Train, Rows]:
    """Return the job and the rows that it learns from. `evaluation` has no planner and no samplings; they are set here.

    Raises SpecError for options that `lumos evaluate` would refuse, for a reward that no task has, and the errors of
    `rltf`.
    """
    if options.preset not in PRESETS:
        raise unknown("preset", options.preset, PRESETS)
    preset = PRESETS[options.preset]
    if not options.start.is_dir():
        raise SpecError(f"No folder '{options.start}': --from names a Hugging Face model folder to start from.")
    for name, value in {"temperature": options.temperature, **options.spec}.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise SpecError(f"--{name.replace('_', '-')} must be a finite number, not {value}.")
    benchmark = open_benchmark(evaluation.benchmark)
    if is_test(evaluation.benchmark, evaluation.split):
        raise SpecError(f"The split '{evaluation.split}' of '{benchmark.name}' is a test split: learn from another.")
    formulation = FORMULATIONS.load(evaluation.formulation)
    trained_role = formulation.roles[0]
    is_searched = "candidates" in formulation.settings
    temperature = (0.0 if is_searched else 1.0) if options.temperature is None else options.temperature
    setting_names = {pair.partition("=")[0] for pair in evaluation.settings}
    setting_pairs = list(evaluation.settings)
    samplings = []
    if is_searched:
        setting_pairs += [f"{name}={value}" for name, value in _SEARCHED.items() if name not in setting_names]
    if temperature > 0:
        samplings += [f"{trained_role}.temperature={temperature}"]
        if options.beams:
            raise SpecError("--beams is for a search, which needs temperature 0: leave out --temperature, or --beams.")
        if options.epsilon is not None:
            raise SpecError("--epsilon draws among the plans of a search: leave out --temperature, or --epsilon.")
    elif is_searched:
        beams = options.beams or preset.beams
        setting_pairs += [] if "candidates" in setting_names else [f"candidates={beams}"]
        samplings += [f"{trained_role}.beams={beams}"]
    else:
        raise SpecError(
            f"Rollouts of '{formulation.name}' have to be sampled: give --temperature 1. Without it every try of a "
            "task would be the same."
        )
    sampling = Sampling() if evaluation.max_tokens is None else Sampling(max_tokens=evaluation.max_tokens)
    if sampling != Sampling():  # where the formulation has a limit of its own, too
        samplings += [f"{trained_role}.max_tokens={sampling.max_tokens}"]
    model = f"local:{options.start}"
    model_option = (
        {"planner": model} if trained_role == "planner" else {"solver": model} if trained_role == "solver" else {}
    )
    rollouts = replace(
        evaluation,
        **model_option,
        max_tokens=None,
        roles=(*evaluation.roles, *(() if model_option else (f"{trained_role}={model}",))),
        settings=tuple(setting_pairs),
        samplings=tuple(samplings),
    )
    job, rows = make_inference_job("evaluate", rollouts, settings, remark, basis=Basis(sampling=sampling))
    assert isinstance(job, Evaluate)
    reward = options.reward or benchmark.reward or benchmark.metrics[0]
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
    epsilon = 0.0 if temperature > 0 else preset.spec.epsilon if options.epsilon is None else options.epsilon
    spec = replace(preset.spec, **options.spec, epsilon=epsilon)
    if spec.shuffle and spec.batch * spec.samples == 1:
        raise SpecError("--shuffle-rewards needs several rewards in a step: give a --batch or --samples above 1.")
    if spec.is_released and (spec.batch, spec.samples) != (1, 1):
        raise SpecError(
            "--baseline released takes an optimizer step for each plan: give --batch 1 and --samples 1, not "
            f"{spec.batch} and {spec.samples}."
        )
    infer = job.infer.as_json() | {"limit": 0}
    recipe = rltf(options.start, options.folder, infer, (trained_role,), positions, reward, spec)
    return Train(recipe), rows
