"""Compute how many items a slice claims ahead, so that no slot is empty until the next commit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

COMMITS_AHEAD = 4  #: items are claimed for this many commits, and again when the items of half of them are used up


@dataclass(frozen=True, slots=True)
class LookAhead:
    """How fast a slice finishes items, as it has measured. `observe` and `wait_until` return an updated copy."""

    pace: float = 0.0  #: items finished from one commit to the next, smoothed
    finished: int = 0  #: items finished up to the latest commit
    not_before: float = 0.0  #: when the next claim may be made (time.monotonic)

    def observe(self, items: int) -> LookAhead:
        """Return the updated measurement after another commit. `items`: all items finished so far."""
        return replace(self, pace=0.5 * (self.pace + items - self.finished), finished=items)

    def wait_until(self, moment: float) -> LookAhead:
        """Return a copy that claims nothing before `moment`, because a claim has returned too few items."""
        return replace(self, not_before=moment)

    def items_to_claim(self, slots: int, busy: int, now: float, *, ahead: bool = True) -> int:
        """Return how many items to claim while `busy` items run or are ready. Unless `ahead`, fill free slots only."""
        extra = COMMITS_AHEAD * self.pace if ahead else 0.0
        if now < self.not_before or busy >= slots + extra / 2:
            return 0
        return slots + ceil(extra) - busy
