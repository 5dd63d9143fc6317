"""What a slice did and why it stopped, in words: the log says it, and the result of its Celery task."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class SliceResult:
    """Filled while a slice runs."""

    finished: int = 0  #: items that it brought to an end
    failed: int = 0  #: tries that failed for a reason of infrastructure: owed again, or ended with infra_error
    why: str = "nothing was due"  #: why it stopped
    failure: str = ""  #: what was broken, if that is why: an endpoint, the database; empty for a regular end
    fault: bool = False  #: whether that was an error of ours, which ended the worker session

    def __str__(self) -> str:
        failed = f", {self.failed:,} failed" if self.failed else ""
        items = f"{self.finished:,} item{'s' * (self.finished != 1)} finished{failed}"
        return f"failed: {self.failure.rstrip('.')}; {items}" if self.failure else f"{items}; stopped: {self.why}"
