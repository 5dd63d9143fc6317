"""The work of the recipe `experts`: train one expert after another. An expert's folder is complete or absent."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save

from lumos_queue.errors import SpecError
from lumos_queue.experts.backends.own import LICENCE
from lumos_queue.experts.backends.own.config import CONFIG, MODELS, WEIGHTS, ExpertConfig, folder_of, read_config
from lumos_queue.experts.catalogue import EXPERTS
from lumos_queue.training.engine.checkpoints import flush
from lumos_queue.training.engine.progress import SILENT, Reporter
from lumos_queue.training.experts.courses import COURSES
from lumos_queue.training.experts.dev import DevFigure, measure_dev
from lumos_queue.training.experts.lesson import SPLIT, Lesson, learn
from lumos_queue.training.recipes.base import Window
from lumos_queue.training.recipes.experts import Experts, digest_of_code
from lumos_queue.util.launch_folder import from_launch
from lumos_queue.util.version import code_version
from lumos_queue.util.wording import format_bytes

MAX_BYTES = 12_000_000  #: of all trained experts together


def run_item(recipe: Experts, window: Window, reporter: Reporter = SILENT) -> dict[str, Any]:
    """Carry out one item of the job, and return its result; `recipes/registry.py` calls this."""
    if window["do"] == "check":
        return check_size(from_launch(recipe.folder))
    return train_expert(recipe, window["expert"])


def train_expert(recipe: Experts, expert: str) -> dict[str, Any]:
    """Train an expert, and rename its folder at the end. An expert that is already trained stays as it is.

    Raises SpecError when the code has changed since the submission, and when the folder has another expert of that
    name.
    """
    if recipe.content != digest_of_code():
        raise SpecError("The code that trains experts has changed since this job was submitted: submit it again.")
    began = time.monotonic()
    parent, option = from_launch(recipe.folder), EXPERTS[expert].option
    target = folder_of(parent, expert)
    if recipe.is_trained(expert):
        return _describe(target, expert)
    parent.mkdir(parents=True, exist_ok=True)
    for partial_folder in parent.glob(f".{option}-*"):  # a killed worker leaves its folder
        shutil.rmtree(partial_folder)
    folder = Path(tempfile.mkdtemp(prefix=f".{option}-", dir=parent))
    try:
        _train(recipe, expert, folder)
        for path in (folder / WEIGHTS, folder / CONFIG, folder):
            flush(path)
        folder.chmod(0o755)
        folder.rename(target)
        flush(parent)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return _describe(target, expert) | {"seconds": round(time.monotonic() - began, 1)}


def check_size(folder: Path) -> dict[str, Any]:
    """Return the total size of the experts in a folder, in bytes. Raises SpecError for more than MAX_BYTES."""
    expert_folders = [expert_folder for expert in MODELS if (expert_folder := folder_of(folder, expert)).is_dir()]
    size = sum(path.stat().st_size for expert_folder in expert_folders for path in expert_folder.iterdir())
    if size > MAX_BYTES:
        sizes = f"{format_bytes(size)}: at most {format_bytes(MAX_BYTES)}"
        raise SpecError(f"The {len(expert_folders)} experts in '{folder}' take {sizes}.")
    counts = {"experts": len(expert_folders), "bytes, at most 12 MB": size, "use": f"--tool experts=own:{folder}"}
    return {"bytes": size, "counts": counts}


def _train(recipe: Experts, expert: str, folder: Path) -> None:
    """Train the expert. Write the weights with the best score on dev, the latest if several are equal, and a config."""
    course = COURSES[expert]
    torch.manual_seed(recipe.seed)
    lesson = course.lesson(expert, recipe.profiles)
    config = ExpertConfig(expert, lesson.shape, lesson.vocabulary, {}, LICENCE)
    _write_config(folder, config)
    best: tuple[float, int, bytes, list[DevFigure]] | None = None

    def measure(step: int) -> None:
        nonlocal best
        weights = _weights(lesson)
        (folder / WEIGHTS).write_bytes(weights)
        figures = measure_dev(expert, folder, recipe.profiles)
        mean = sum(figure.expert for figure in figures) / len(figures)
        if best is None or mean >= best[0]:
            best = (mean, step, weights, figures)

    steps = recipe.steps or course.steps
    loss = learn(lesson, steps, recipe.seed, measure)
    assert best is not None, "it is measured at the end"
    _, best_step, weights, figures = best
    (folder / WEIGHTS).write_bytes(weights)
    training = {
        "request": recipe.request_of(expert),
        "data": "openagi, generated",
        "split": SPLIT,
        "profiles": list(recipe.profiles),
        "steps": steps,
        "chosen_step": best_step,
        "loss": round(loss, 5),
        "dev": [asdict(figure) for figure in figures],
        "code_version": code_version(),
    }
    _write_config(folder, replace(config, training=training))


def _weights(lesson: Lesson) -> bytes:
    return save({name: value.contiguous() for name, value in lesson.network.state_dict().items()})


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
