"""What a slice did and why it stopped, in words: the log says it, and the result of its Celery task."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from lumos_queue.records import Ending, Outcome
from lumos_queue.util.similar_messages import alike_key, short_line
from workers.idle import NOTHING_DUE


@dataclass(slots=True)
class SliceResult:
    """Filled while a slice runs."""

    finished: int = 0  #: items that it brought to an end
    why: str = NOTHING_DUE  #: why it stopped
    failure: str = ""  #: what was broken, if that is why: an endpoint, the database; empty for a regular end
    fault: bool = False  #: whether that was an error of ours, which ended the worker session
    _infra_errors: int = 0  # of the finished items, those that ended with infra_error
    _reasons: dict[int, str] = field(default_factory=dict)  # of the items that failed, the latest

    def note_failure(self, item: int, reason: str) -> None:
        """An item failed for a reason of infrastructure: it is owed again, or it ended with infra_error."""
        self._reasons[item] = short_line(reason)

    def note_end(self, item: int, outcome: Outcome | None) -> None:
        """An item has ended; `outcome` is None for an item that is no episode."""
        self.finished += 1
        if outcome is not None and outcome.ending == Ending.INFRA_ERROR:
            self._infra_errors += 1
            self.note_failure(item, outcome.message)

    @property
    def failures(self) -> int:
        """Items that failed at least once."""
        return len(self._reasons)

    @property
    def has_failed(self) -> bool:
        """Whether something was broken, or each item that it tried has failed."""
        return bool(self.failure) or (self.failures > 0 and self.finished == self._infra_errors)

    def __str__(self) -> str:
        items = f"{self.finished:,} item{'s' * (self.finished != 1)} finished"
        if self.failure:
            return f"failed: {self.failure.rstrip('.')}; {items}{self._describe_failed()}"
        if self.has_failed:
            return f"failed: {items}{self._describe_failed()}"
        return f"{items}{self._describe_failed()}; stopped: {self.why}"

    def _describe_failed(self) -> str:
        """How many items failed, and the most frequent reason."""
        if not self._reasons:
            return ""
        counts = Counter(map(alike_key, self._reasons.values()))
        key, largest = counts.most_common(1)[0]
        reason = next(text for text in self._reasons.values() if alike_key(text) == key).rstrip(".")
        suffix = f"; {self.failures - largest:,} more failed for other reasons" if self.failures > largest else ""
        return f", {largest:,} failed: {reason}{suffix}"
