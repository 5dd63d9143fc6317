"""The work of the recipe `experts`: train one expert after another. An expert's folder is complete or absent."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save

from lumos_queue.commands import digest
from lumos_queue.errors import SpecError
from lumos_queue.experts.backends.own import LICENCE
from lumos_queue.experts.backends.own.config import CONFIG, MODELS, WEIGHTS, ExpertConfig, folder_of, read_config
from lumos_queue.experts.catalogue import EXPERTS
from lumos_queue.records import FitPhase, TrainingStep
from lumos_queue.training.engine.checkpoint_clock import CheckpointClock
from lumos_queue.training.engine.checkpoints import flush, newest_usable, remove_later
from lumos_queue.training.engine.progress import SILENT, Reporter
from lumos_queue.training.experts.checkpoint import restore_fit, write_checkpoint
from lumos_queue.training.experts.courses import COURSES
from lumos_queue.training.experts.dev import DevFigure, measure_dev
from lumos_queue.training.experts.fit import ExpertFit, complete_fit
from lumos_queue.training.experts.lesson import SPLIT, Lesson
from lumos_queue.training.recipes.base import Window, WindowResult
from lumos_queue.training.recipes.experts import Experts, is_equal_code
from lumos_queue.util.launch_folder import from_launch
from lumos_queue.util.version import code_version
from lumos_queue.util.wording import format_bytes

MAX_BYTES = 12_000_000  #: of all trained experts together


def run_item(recipe: Experts, window: Window, reporter: Reporter = SILENT) -> WindowResult:
    """Carry out one item of the job, and return its result; `recipes/registry.py` calls this."""
    if window["do"] == "check":
        return WindowResult(check_size(from_launch(recipe.folder)))
    return train_expert(recipe, window["expert"], reporter)


def train_expert(recipe: Experts, expert: str, reporter: Reporter = SILENT) -> WindowResult:
    """Train an expert, and rename its folder at the end. An expert that is already trained stays as it is.

    A fit that was stopped or killed continues at its newest undamaged checkpoint, with the same weights. Raises
    SpecError when the code has changed since the submission, and when the folder has another expert of that name,
    DivergedFit when a loss is not a number, and FitInterrupted when a stop was requested.
    """
    if not is_equal_code(recipe.content):
        raise SpecError("The code that trains experts has changed since this job was submitted: submit it again.")
    parent, option = from_launch(recipe.folder), EXPERTS[expert].option
    target, checkpoints = folder_of(parent, expert), parent / f".{option}.fit"
    if recipe.is_trained(expert):
        shutil.rmtree(checkpoints, ignore_errors=True)
        return WindowResult(_describe(target, expert))
    parent.mkdir(parents=True, exist_ok=True)
    for partial_folder in parent.glob(f".{option}-*"):  # a killed worker leaves its folder
        shutil.rmtree(partial_folder)
    folder = Path(tempfile.mkdtemp(prefix=f".{option}-", dir=parent))
    try:
        fit = _train(recipe, expert, folder, checkpoints, reporter)
        for path in (folder / WEIGHTS, folder / CONFIG, folder):
            flush(path)
        folder.chmod(0o755)
        _rename(folder, target, recipe, expert)
        flush(parent)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    shutil.rmtree(checkpoints, ignore_errors=True)
    notes = {"notes": fit.notes} if fit.notes else {}
    return WindowResult(_describe(target, expert) | {"seconds": round(fit.seconds, 1)} | notes, fit.steps)


def check_size(folder: Path) -> dict[str, Any]:
    """Return the total size of the experts in a folder, in bytes. Raises SpecError for more than MAX_BYTES."""
    expert_folders = [expert_folder for expert in MODELS if (expert_folder := folder_of(folder, expert)).is_dir()]
    size = sum(path.stat().st_size for expert_folder in expert_folders for path in expert_folder.iterdir())
    if size > MAX_BYTES:
        sizes = f"{format_bytes(size)}: at most {format_bytes(MAX_BYTES)}"
        raise SpecError(f"The {len(expert_folders)} experts in '{folder}' take {sizes}.")
    counts = {"experts": len(expert_folders), "bytes, at most 12 MB": size, "use": f"--tool experts=own:{folder}"}
    return {"bytes": size, "counts": counts}


@dataclass(frozen=True, slots=True)
class _CompleteFit:
    """The measurements of a fit, also those of processes that were stopped."""

    steps: tuple[TrainingStep, ...]
    seconds: float
    notes: list[str]  #: about damaged checkpoints


def _train(recipe: Experts, expert: str, folder: Path, checkpoints: Path, reporter: Reporter) -> _CompleteFit:
    """Train the expert. Write the weights with the best score on dev, the latest if several are equal, and a config."""
    began = time.monotonic()
    course = COURSES[expert]
    steps = recipe.steps or course.steps
    spec = digest("experts", json.dumps(recipe.request_of(expert), sort_keys=True))
    checkpoint = newest_usable(checkpoints, spec, steps)
    seal = checkpoint.seal
    start, seconds = seal.get("step", 0), seal.get("seconds", 0.0)
    remove_later(checkpoints, start)
    numbers = {"steps": steps, "step": start, "start_step": start, "checkpoint_step": start}
    reporter.update(FitPhase.LOADING, fit=expert, **numbers)
    torch.manual_seed(recipe.seed)
    lesson = course.lesson(expert, recipe.profiles)
    config = ExpertConfig(expert, lesson.shape, lesson.vocabulary, {}, LICENCE)
    _write_config(folder, config)
    fit = ExpertFit(expert, lesson, steps, recipe.seed)
    if checkpoint.path:
        restore_fit(fit, checkpoint.path, seal)

    def measure() -> None:
        weights = _weights(lesson)
        (folder / WEIGHTS).write_bytes(weights)
        fit.note_score(weights, measure_dev(expert, folder, recipe.profiles))

    def save() -> None:
        facts = {"spec": spec, "seconds": seconds + time.monotonic() - began}
        write_checkpoint(fit, checkpoints, facts)

    complete_fit(fit, measure, save, CheckpointClock(recipe.control.checkpoint_seconds), reporter)
    reporter.update(FitPhase.EXPORTING)
    assert fit.best is not None, "it is measured at the end"
    (folder / WEIGHTS).write_bytes(fit.best.weights)
    training = {
        "request": recipe.request_of(expert),
        "data": "openagi, generated",
        "split": SPLIT,
        "profiles": list(recipe.profiles),
        "steps": steps,
        "chosen_step": fit.best.step,
        "loss": round(fit.loss, 5),
        "dev": [asdict(figure) for figure in fit.best.figures],
        "code_version": code_version(),
    }
    _write_config(folder, replace(config, training=training))
    return _CompleteFit(tuple(fit.steps_done), seconds + time.monotonic() - began, checkpoint.notes)


def _weights(lesson: Lesson) -> bytes:
    return save({name: value.contiguous() for name, value in lesson.network.state_dict().items()})


def _rename(folder: Path, target: Path, recipe: Experts, expert: str) -> None:
    """Rename the folder of a complete expert, unless another process has completed the same expert meanwhile."""
    try:
        folder.rename(target)
    except OSError:
        if not recipe.is_trained(expert):
            raise
        shutil.rmtree(folder)


def _write_config(folder: Path, config: ExpertConfig) -> None:
    text = json.dumps(config.as_json(), indent=1, ensure_ascii=False)
    (folder / CONFIG).write_text(text + "\n", encoding="utf-8")


def _describe(folder: Path, expert: str) -> dict[str, Any]:
    """Return the facts of a trained expert for the report."""
    training = read_config(folder / CONFIG, expert).training
    size = (folder / WEIGHTS).stat().st_size
    figures = [DevFigure(**fields) for fields in training["dev"]]
    summary = "; ".join(map(str, figures))
    return {
        "expert": expert,
        "bytes": size,
        **{name: training[name] for name in ("steps", "chosen_step", "loss", "dev")},
        "counts": {expert: f"dev {summary}; {size / 1e3:,.0f} kB"},
    }
