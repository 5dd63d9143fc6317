"""The plan of one window of a fit: its steps, and when the fit is evaluated, saved and ended within it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from lumos_queue.training.engine.control import FitControl


@dataclass(frozen=True, slots=True)
class WindowPlan:
    """A window is the optimizer steps `start` + 1 to `stop` of a fit of `steps` steps."""

    start: int
    stop: int
    steps: int = 0  #: of the whole fit; 0: not known
    window: int = 0  #: steps of each window; 0: only the end of this window is known
    eval_every: int = 0  #: as of FitControl, and so are the next two
    patience: int = 0
    checkpoint_seconds: float = 60.0

    @classmethod
    def of(cls, control: FitControl, start: int, stop: int, steps: int, window: int) -> WindowPlan:
        return cls(start, stop, steps, window, control.eval_every, control.patience, control.checkpoint_seconds)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> WindowPlan:
        return cls(**value)

    def ends_window(self, step: int) -> bool:
        """Whether a window ends with this step. Steps before `start` are repeated if their checkpoint is damaged."""
        return step == self.stop or (self.window > 0 and step % self.window == 0)

    def is_evaluated(self, step: int) -> bool:
        """Whether the development loss is computed after this step."""
        if self.eval_every:
            return step % self.eval_every == 0 or step == self.steps
        return self.ends_window(step)

    def is_stopped_early(self, stale_windows: int) -> bool:
        """Whether the fit ends after so many windows in a row without a lower development loss."""
        return 0 < self.patience <= stale_windows
