"""The values of a job in a list: its request, its state, and its score so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lumos_queue.reports.json_values import OPTIONAL
from lumos_queue.reports.row_facts import RowFacts
from lumos_queue.util.wording import format_rough_seconds


@dataclass(frozen=True, slots=True)
class ScoreSoFar:
    """The score of a job by its main metric. Items without a score count as wrong."""

    metric: str
    judged: int  #: items with a score
    of: int  #: items
    value: float
    ci95: tuple[float, float] | None  #: with all missing items wrong, and right; None if scores are not independent
    #: `value` with all missing items wrong, and right; None without missing items, and if the score is not a share
    bounds: tuple[float, float] | None = field(default=None, metadata=OPTIONAL)


@dataclass(frozen=True, slots=True)
class ListedFit:
    """The latest report of a fit that a worker works on."""

    fit: str  #: its name within the job; '' for the only one
    phase: str  #: a FitPhase
    step: int  #: the latest optimizer step; 0: none
    steps: int  #: of the whole fit; 0: not known
    seconds_left: float | None  #: to the end of the fit; None: not known

    def describe(self) -> str:
        """Return the step and the remaining time, as in `step 137 of 1,600, 14 min left`; before it, the phase."""
        if not self.step:
            return self.phase
        steps = f" of {self.steps:,}" if self.steps else ""
        remaining = "" if self.seconds_left is None else f", {format_rough_seconds(self.seconds_left)} left"
        return f"step {self.step:,}{steps}{remaining}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedJob:
    """A job of a list. A damaged job has only its id, its real state and its reason."""

    job: str
    kind: str = ""
    benchmark: str = ""
    split: str = ""
    formulation: str = ""
    state: str = ""
    waiting: str = ""
    items: int = 0
    created_at: float = 0
    submitted_by: str = ""
    name: str = ""
    parent: str | None = None
    chosen: str = ""
    real_state: str  #: a RealState
    reason: str  #: what it waits for, why items fail, or what stopped or damaged it; '' if none
    age: float = 0.0  #: seconds since its submission
    done: int = 0  #: items
    recipe: str = ""  #: of a training job
    models: Mapping[str, str] = field(default_factory=dict[str, str])  #: short names, by role
    addresses: Mapping[str, str] = field(default_factory=dict[str, str])  #: of the models' servers, by role
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    by_outcome: bool = False  #: whether its tasks were chosen by their outcomes in another job
    score: ScoreSoFar | None = None
    row_origin: RowFacts | None = None  #: None for a job without rows
    #: The fits of a training job that workers work on now; None without any.
    fits: Sequence[ListedFit] | None = field(default=None, metadata=OPTIONAL)

    @property
    def remark(self) -> str:
        """The reason of the state, or else the progress of the fits; '' without both."""
        return self.reason or "; ".join(fit.describe() for fit in self.fits or ())
