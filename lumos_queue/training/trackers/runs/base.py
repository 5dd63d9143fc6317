"""The interface of a tracker's run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(slots=True)
class Logged:
    """The steps that a run has already. A figure is logged once for each position, in rising order."""

    start: int = 0  #: position up to which every figure is logged
    newest: dict[str, int] = field(default_factory=dict[str, int])  #: the newest position of a figure, by its name

    def select_new(self, position: int, figures: Mapping[str, float]) -> dict[str, float]:
        """Return the figures of a step that are not logged."""
        return {name: figure for name, figure in figures.items() if position > self.newest.get(name, self.start)}

    def add(self, position: int, figures: Mapping[str, float]) -> None:
        self.newest.update(dict.fromkeys(figures, position))

    @property
    def position(self) -> int:
        """The newest position of any figure; 0 without a step."""
        return max(self.newest.values(), default=self.start)


class TrackerRun(Protocol):
    """The run of a job in one tracker. Every method may raise any error of the tracker's package."""

    @property
    def warning(self) -> str:
        """What the package has reported without an error, '' = nothing."""
        ...

    def open(self) -> Logged:
        """Create or continue the run, and return what it has. Called again after `log` has failed."""
        ...

    def log(self, position: int, figures: Mapping[str, float]) -> None:
        """Log figures of a step."""
        ...

    def finish(self) -> None:
        """Hand over everything that was logged, and close the run."""
        ...
