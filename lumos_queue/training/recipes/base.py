"""The one shape of all recipes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, Self

Window = dict[str, Any]  #: what one item of the job does, as JSON; 'do' names it


class Recipe(Protocol):
    """A frozen value. Its JSON form is part of the job's, so it says everything that decides the weights."""

    name: str

    def as_json(self) -> dict[str, Any]: ...

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self: ...

    def windows(self) -> list[Window]:
        """What each item of the job does, in order: a preparation, stretches of optimizer steps, the export."""
        ...


#: The work of a recipe: carries out one item and returns what the report shows of it.
RunWindow = Callable[[Any, Window], dict[str, Any]]
