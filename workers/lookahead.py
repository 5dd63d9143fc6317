"""How many items a slice claims ahead, so that none of its places stays empty until the next commit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

COMMITS_AHEAD = 4  #: items are claimed for so many commits, and again once those of half of them are used up


@dataclass(frozen=True, slots=True)
class LookAhead:
    """What a slice has seen of its own pace. Each method that learns something returns a new value."""

    pace: float = 0.0  #: items finished from one commit to the next, smoothed
    finished: int = 0  #: items finished up to the latest commit
    not_before: float = 0.0  #: when the next claim may be made (time.monotonic)

    def observe(self, completed: int) -> LookAhead:
        """After one more commit's time, with so many items finished in all."""
        return replace(self, pace=0.5 * (self.pace + completed - self.finished), finished=completed)

    def wait_until(self, moment: float) -> LookAhead:
        """After a claim that brought less than was wanted: the next one would most likely bring nothing."""
        return replace(self, not_before=moment)

    def items_to_claim(self, slots: int, busy: int, now: float, *, ahead: bool = True) -> int:
        """How many to claim for `places`, when `busy` items run or are ready; without `ahead` no more than places."""
        extra = COMMITS_AHEAD * self.pace if ahead else 0.0
        if now < self.not_before or busy >= slots + extra / 2:
            return 0
        return slots + ceil(extra) - busy
