"""Group the latest errors of a job: endings of episodes without an answer, and reasons why items are retried."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from db.engine.connection import Connection
from db.queries.jobs import problems
from db.queries.results import list_latest_failures
from lumos_queue.records import Ending
from lumos_queue.util.similar_messages import MAX_TEXT, alike_key, short_line

MAX_GROUPS = 6  #: of each kind
SHARE = 20  #: times the duration of a read before the next read


@dataclass(frozen=True, slots=True)
class ErrorGroup:
    """Errors of the same kind whose texts differ only in numbers."""

    kind: str  #: an ending, or `owed again`
    text: str  #: the first error, truncated, as one harmless line
    items: int


class ErrorReader:
    """Reads the errors of a job, and again when their number has changed, but less often if a read takes long."""

    def __init__(self) -> None:
        self._failure_counts: Mapping[str, int] | None = None
        self._endings: list[ErrorGroup] = []
        self._not_before = 0.0

    def read(self, connection: Connection, job: str, endings: Mapping[str, int]) -> list[ErrorGroup]:
        """Return the groups of errors. `endings` maps endings to numbers of episodes."""
        failure_counts = {ending: count for ending, count in endings.items() if ending != Ending.ANSWERED}
        if failure_counts != self._failure_counts and time.monotonic() >= self._not_before:
            start = time.monotonic()
            self._endings = _read_unanswered(connection, job) if failure_counts else []
            self._failure_counts, self._not_before = failure_counts, start + SHARE * (time.monotonic() - start)
        retry_groups = [ErrorGroup("owed again", text, items) for text, items in problems(connection, job, MAX_GROUPS)]
        return _merge_alike(retry_groups) + self._endings


def _read_unanswered(connection: Connection, job: str) -> list[ErrorGroup]:
    """Return the groups of episodes without an answer, the latest first."""
    failures = list_latest_failures(connection, job, MAX_TEXT, 10 * MAX_GROUPS)
    return _merge_alike([ErrorGroup(*failure) for failure in failures])[:MAX_GROUPS]


def _merge_alike(groups: list[ErrorGroup]) -> list[ErrorGroup]:
    merged_groups: dict[tuple[str, str], ErrorGroup] = {}
    for group in groups:
        text = short_line(group.text)
        key = group.kind, alike_key(text)
        first = merged_groups.get(key)
        merged_groups[key] = ErrorGroup(
            group.kind, first.text if first else text, group.items + (first.items if first else 0)
        )
    return list(merged_groups.values())
