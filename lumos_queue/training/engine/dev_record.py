"""Development losses of a fit: those of the present window, the lowest one, and how long there was no lower one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class DevRecord:
    """The losses until an optimizer step, in nats per assistant token. A checkpoint's seal has this record."""

    evaluations: tuple[tuple[int, float], ...] = ()  #: (step, loss) of the present window
    best: tuple[int, float] | None = None  #: the step with the lowest loss, and that loss
    best_before: float | None = (
        None  #: the lowest loss before the window, also of trained weights that the fit began with
    )
    stale_windows: int = 0  #: windows in a row with evaluations, but without a new lowest loss

    @property
    def latest(self) -> float | None:
        """The newest loss of the window; None if it has no evaluation."""
        return self.evaluations[-1][1] if self.evaluations else None

    @property
    def best_step(self) -> int | None:
        """The step with the lowest loss; None: there was no evaluation."""
        return self.best and self.best[0]

    def add(self, step: int, loss: float) -> DevRecord:
        """Return the record with the loss of a further step."""
        is_best = self.best is None or loss < self.best[1]
        best = (step, loss) if is_best else self.best
        return replace(self, evaluations=(*self.evaluations, (step, loss)), best=best)

    def end_window(self) -> DevRecord:
        """Return the record at the end of the window, with its number of windows without a lower loss."""
        if not self.evaluations:
            return self
        has_best = self.best is not None and any(step == self.best[0] for step, _ in self.evaluations)
        return replace(self, stale_windows=0 if has_best else self.stale_windows + 1)

    def begin_window(self) -> DevRecord:
        """Return the record for the next window."""
        losses = [loss for _, loss in self.evaluations]
        if self.best_before is not None:
            losses.append(self.best_before)
        return replace(self, evaluations=(), best_before=min(losses) if losses else None)

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @classmethod
    def from_seal(cls, seal: Mapping[str, Any]) -> DevRecord:
        """Return the record of a checkpoint's seal, also of a seal of an earlier version."""
        if "dev" not in seal:
            loss, step = seal.get("dev_loss"), seal.get("step", 0)
            evaluations = () if loss is None else ((step, loss),)
            return cls(evaluations, evaluations[0] if evaluations else None, seal.get("best_dev_loss"))
        losses = seal["dev"]
        best = losses["best"]
        evaluations = tuple((step, loss) for step, loss in losses["evaluations"])
        return cls(evaluations, best and (best[0], best[1]), losses["best_before"], losses["stale_windows"])
