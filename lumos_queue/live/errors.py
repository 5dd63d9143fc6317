"""The latest errors of a job by class: how episodes ended that have no answer, and why items are owed again."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from db.jobs import problems
from db.models import EpisodeRow
from lumos_queue.records import Ending
from lumos_queue.util.similar_messages import MAX_TEXT, alike_key, short_line

MAX_GROUPS = 6  #: read of each kind
SHARE = 20  #: a read that took so long is made again after so many times as long


@dataclass(frozen=True, slots=True)
class ErrorGroup:
    """Errors whose words are the same, whatever numbers are in them."""

    kind: str  #: an ending, or `owed again`
    text: str  #: the first one, cut, one harmless line
    items: int


class ErrorReader:
    """Reads the errors of one job again when their number has changed, and seldom if that takes long."""

    def __init__(self) -> None:
        self._failure_counts: Mapping[str, int] | None = None
        self._endings: list[ErrorGroup] = []
        self._not_before = 0.0

    def read(self, connection: Connection, job: str, endings: Mapping[str, int]) -> list[ErrorGroup]:
        """`endings`: how many episodes ended in each way."""
        failure_counts = {ending: count for ending, count in endings.items() if ending != Ending.ANSWERED}
        if failure_counts != self._failure_counts and time.monotonic() >= self._not_before:
            start = time.monotonic()
            self._endings = _read_unanswered(connection, job) if failure_counts else []
            self._failure_counts, self._not_before = failure_counts, start + SHARE * (time.monotonic() - start)
        retry_groups = [ErrorGroup("owed again", text, items) for text, items in problems(connection, job, MAX_GROUPS)]
        return _merge_alike(retry_groups) + self._endings


def _read_unanswered(connection: Connection, job: str) -> list[ErrorGroup]:
    """The groups that an episode joined last come first."""
    text = func.substr(EpisodeRow.message, 1, MAX_TEXT)
    rows = connection.execute(
        select(EpisodeRow.ending, text, func.count())
        .where(EpisodeRow.job == job, EpisodeRow.ending.not_in(("", Ending.ANSWERED.value)))
        .group_by(EpisodeRow.ending, text)
        .order_by(func.max(EpisodeRow.finished_at).desc())
        .limit(10 * MAX_GROUPS)
    )
    return _merge_alike([ErrorGroup(*row) for row in rows])[:MAX_GROUPS]


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
