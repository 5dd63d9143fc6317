"""Read training jobs of the former engine. They can be displayed, but not resumed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from lumos_queue.errors import SpecError
from lumos_queue.training.recipes.base import Window

#: Fields that jobs of the current engine store, and jobs of the former engine do not.
_MARKS = {"sft": "fit", "starter": "fits"}


@dataclass(frozen=True, slots=True)
class FormerFit:
    """The stored values of a recipe that the current `from_json` cannot read."""

    name: str
    values: Mapping[str, Any]

    device = "cpu"
    folder = ""

    def as_json(self) -> dict[str, Any]:
        return dict(self.values)

    def windows(self) -> list[Window]:
        fits = [self.values["steps"], *([self.values["one_pass_steps"]] if self.name == "starter" else [])]
        count = sum(-(-steps // self.values["window"]) for steps in fits)
        return [{"do": "nothing"}] * (count + 2)

    def refuse(self) -> NoReturn:
        """Raise SpecError, because this version does not contain the former engine."""
        raise SpecError("This fit was begun by an engine that this version no longer has: submit it again.")


def is_former(name: str, values: Mapping[str, Any]) -> bool:
    return name in _MARKS and _MARKS[name] not in values
