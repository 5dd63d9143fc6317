"""The recipe of the models that come with the project: from the original files of four benchmarks to two models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from lumos_queue.errors import SpecError
from lumos_queue.training.recipes.base import Window

SOURCES = ("gsm8k", "mawps", "asdiv", "svamp")
STEPS = 6500


@dataclass(frozen=True, slots=True)
class Starter:
    """Prepare the conversations, fit the iterative model, continue from it to the one-pass model, export both."""

    data: str  #: folder with the original files of gsm8k, mawps, asdiv and svamp
    folder: str  #: for conversations, checkpoints and the models; every worker must be able to read it
    steps: int = STEPS  #: optimizer steps of the iterative fit
    one_pass_steps: int = 1500  #: optimizer steps of the one-pass fit
    window: int = 250  #: optimizer steps of one item
    generated: int = 40_000  #: wordmath problems to generate

    name = "starter"
    device = "cpu"

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        return cls(**value)

    def windows(self) -> list[Window]:
        plan: list[Window] = [{"do": "prepare"}]
        for fit, steps in (("iterative", self.steps), ("one-pass", self.one_pass_steps)):
            for start in range(0, steps, self.window):
                plan.append({"do": "fit", "fit": fit, "start": start, "stop": min(start + self.window, steps)})
        return [*plan, {"do": "export"}]


def starter(data: Path, folder: Path, **numbers: int) -> Starter:
    """The recipe from what a person gives; `numbers` are fields of Starter. Raises SpecError for missing data."""
    for name in SOURCES:
        if not (data / name).is_dir():
            raise SpecError(f"--data '{data}' has no folder '{name}': the recipe reads {', '.join(SOURCES)}.")
    return Starter(str(data.resolve()), str(folder.resolve()), **numbers)
