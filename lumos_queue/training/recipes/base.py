"""The one shape of all recipes."""

from __future__ import annotations

from typing import Any, Protocol

Window = dict[str, Any]  #: what one item of the job does, as JSON; 'do' names it


class Recipe(Protocol):
    """A frozen value. Its JSON form is part of the job's, so it says everything that decides the weights."""

    name: str

    def as_json(self) -> dict[str, Any]: ...

    def windows(self) -> list[Window]:
        """What each item of the job does, in order: a preparation, stretches of optimizer steps, the export."""
        ...

    def do(self, window: Window) -> dict[str, Any]:
        """Carry out one item; returns what the report shows of it. Called in a process of its own.

        Raises SpecError for what a person can mend.
        """
        ...
