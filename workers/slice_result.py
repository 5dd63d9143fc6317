"""The result of a slice as text, for the log and for the result of its Celery task."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from lumos_queue.records import Ending, Outcome
from lumos_queue.util.similar_messages import alike_key, short_line
from lumos_queue.util.wording import plural
from workers.idle import NOTHING_DUE


@dataclass(slots=True)
class SliceResult:
    """The work of a slice and the reason of its end, filled while it runs."""

    finished: int = 0  #: items that it finished
    why: str = NOTHING_DUE  #: the reason of its end
    failure: str = ""  #: the failure that ended it, such as an endpoint or the database; empty for a regular end
    fault: bool = False  #: whether an internal error ended it, and the worker session
    _infra_errors: int = 0  # of the finished items, those that ended with infra_error
    _reasons: dict[int, str] = field(default_factory=dict[int, str])  # of the items that failed, the latest

    def note_failure(self, item: int, reason: str) -> None:
        """Add an item that failed because of infrastructure: it is pending again, or ended with infra_error."""
        self._reasons[item] = short_line(reason)

    def note_end(self, item: int, outcome: Outcome | None) -> None:
        """Add an item that has ended. `outcome` is None if the item is no episode."""
        self.finished += 1
        if outcome is not None and outcome.ending == Ending.INFRA_ERROR:
            self._infra_errors += 1
            self.note_failure(item, outcome.message)

    @property
    def failures(self) -> int:
        """The number of items that failed at least once."""
        return len(self._reasons)

    @property
    def has_failed(self) -> bool:
        """Whether a failure ended the slice, or all items that the slice has run have failed."""
        return bool(self.failure) or (self.failures > 0 and self.finished == self._infra_errors)

    def __str__(self) -> str:
        items = f"{plural(self.finished, 'item')} finished"
        if self.failure:
            return f"failed: {self.failure.rstrip('.')}; {items}{self._describe_failed()}"
        if self.has_failed:
            return f"failed: {items}{self._describe_failed()}"
        return f"{items}{self._describe_failed()}; stopped: {self.why}"

    def _describe_failed(self) -> str:
        """Describe how many items failed, and the most frequent reason; '' if none failed."""
        if not self._reasons:
            return ""
        counts = Counter(map(alike_key, self._reasons.values()))
        key, largest = counts.most_common(1)[0]
        reason = next(text for text in self._reasons.values() if alike_key(text) == key).rstrip(".")
        suffix = f"; {self.failures - largest:,} more failed for other reasons" if self.failures > largest else ""
        return f", {largest:,} failed: {reason}{suffix}"
