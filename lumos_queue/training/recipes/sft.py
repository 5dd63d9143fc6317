"""Training on builds: the conversations of stored episodes, from the weights and the tokenizer of a model folder.

From scratch there is no such folder: the model has the starter's shape, and its tokenizer is learnt from the build.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lumos_queue.builds.folder import find_build
from lumos_queue.commands import digest
from lumos_queue.endpoints.model_folder import check_folder, identity
from lumos_queue.errors import SpecError
from lumos_queue.models.starter import FROM_SCRATCH, starter_url
from lumos_queue.settings import Settings
from lumos_queue.training.recipes.base import Window
from lumos_queue.util.launch_folder import from_launch

STEPS = 500
RATE, SCRATCH_RATE = 0.005, 0.02  #: for trained weights, and for random ones
SCRATCH = "scratch"
REQUEST = "sft.json"  #: in the output folder: whose checkpoints these are


@dataclass(frozen=True, slots=True)
class Sft:
    """One joint model for planner and grounder. Items: the preparation, the windows of the fit, the export."""

    data: tuple[str, ...]  #: builds (folders), or files of conversations
    start: str  #: model folder that the fit starts from; '' = random weights
    folder: str  #: for conversations, checkpoints and the model; every worker must be able to read it
    formulation: str  #: which conversations of a build: its files `[…_]<formulation>.jsonl`
    steps: int  #: optimizer steps
    window: int  #: optimizer steps of one item
    content: str  #: digest of the conversations and of the model at submission
    rate: float = RATE  #: largest learning rate of the matrices; that of embeddings and norms is a fifth of it
    seed: int = 0

    name = "sft"

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"data": list(self.data)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Sft:
        return cls(**{**value, "data": tuple(value["data"])})

    def windows(self) -> list[Window]:
        starts = range(0, self.steps, self.window)
        fits = [{"do": "fit", "start": start, "stop": min(start + self.window, self.steps)} for start in starts]
        return [{"do": "prepare"}, *fits, {"do": "export"}]

    def check_unchanged(self) -> None:
        """Raises SpecError when builds or model have changed since submission."""
        if content_of(map(from_launch, self.data), self.start, self.formulation) != self.content:
            raise SpecError("The builds or the model to start from have changed since this job was submitted.")

    def check_folder(self) -> None:
        """Raises SpecError when the output folder holds anything other than this fit."""
        folder = from_launch(self.folder)
        if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
            return
        try:
            mine = json.loads((folder / REQUEST).read_text(encoding="utf-8")) == self.as_json()
        except (OSError, ValueError):
            mine = False
        if not mine:
            raise SpecError(f"--folder '{folder}' holds something else already: name a new or empty one.")


def sft(data: Sequence[Path], start: str, folder: Path, formulation: str, **numbers: Any) -> Sft:
    """The recipe from what a person gives; `numbers` are fields of Sft. Raises SpecError when something is missing.

    `start` is a model folder, `starter` or `scratch`.
    """
    begin = "" if start == SCRATCH else str(_model_folder(start, formulation).resolve())
    builds = [build.resolve() for build in data]
    recipe = Sft(
        data=tuple(map(str, builds)),
        start=begin,
        folder=str(folder.resolve()),
        formulation=formulation,
        content=content_of(builds, begin, formulation),
        **{"rate": SCRATCH_RATE if start == SCRATCH else RATE, **numbers},
    )
    recipe.check_folder()
    return recipe


def _model_folder(start: str, formulation: str) -> Path:
    folder = Path(
        (starter_url(formulation, FROM_SCRATCH) if start == "starter" else f"local:{start}").removeprefix("local:")
    )
    check_folder(folder)
    return folder


def find_data(settings: Settings, text: str) -> Path:
    """A build by its name or folder, or a file. Raises SpecError when it does not exist."""
    path = Path(text).expanduser()
    return path if path.exists() else find_build(settings, text)


def files_of(build: Path, formulation: str) -> list[Path]:
    """The files of conversations of one formulation. Raises SpecError when there is none."""
    if build.is_file():
        return [build]
    if not build.is_dir():
        raise SpecError(f"No build '{build}': expected what `lumos dataset build` wrote, or a JSON lines file.")
    found = sorted({*build.glob(f"*_{formulation}.jsonl"), *build.glob(f"{formulation}.jsonl")})  # cot has one module
    if not found:
        there = ", ".join(path.name for path in sorted(build.glob("*.jsonl"))) or "no JSON lines files"
        raise SpecError(f"The build '{build}' has no conversations for '{formulation}'. It has: {there}.")
    return found


def content_of(builds: Iterable[Path], start: str, formulation: str) -> str:
    """A digest of everything that is read: the conversations in order, the weights and the tokenizer."""
    model = identity(from_launch(start)) if start else {"sha256": SCRATCH, "tokenizer_sha256": SCRATCH}
    parts = [model["sha256"], model["tokenizer_sha256"]]
    for build in builds:
        for path in files_of(build, formulation):
            with path.open("rb") as file:
                parts += [path.name, hashlib.file_digest(file, "sha256").hexdigest()]
    return digest("sft", *parts)
