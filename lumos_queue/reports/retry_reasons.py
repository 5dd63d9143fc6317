"""Describe why items of jobs fail and are tried again: the most frequent reason, with its count, as text."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from db.engine.connection import Connection
from db.queries.failure_groups import FailureGroup, failure_groups
from lumos_queue.util.similar_messages import MAX_TEXT, alike_key, short_line


@dataclass(frozen=True, slots=True)
class RetryReason:
    """The items of a job that failed and are tried again."""

    reason: str  #: the most frequent reason, as one sanitized line
    items: int  #: number of items that failed for this reason
    other_failures: int  #: number of items that failed for other reasons
    running: int  #: number of items with this reason that are being tried now
    seconds: float | None  #: time until the next of them is due, not positive if it is due; None if all are being tried


def read_retry_reason(connection: Connection, jobs: Collection[str]) -> dict[str, RetryReason]:
    """Return the most frequent reason by job id, for the jobs that have failing items, with one query."""
    if not jobs:
        return {}
    by_job: dict[str, list[FailureGroup]] = {}
    for group in failure_groups(connection, jobs, MAX_TEXT):
        by_job.setdefault(group.job, []).append(group)
    return {job: _sum_up(groups) for job, groups in by_job.items()}


def describe_retry_reason(failure: RetryReason, when: str = "") -> str:
    """Describe failing items on one line; `when` is a text on the time of their next try, or ''."""
    several = failure.items > 1
    line = f"{failure.items:,} item{'s' * several} failed and {'are' if several else 'is'} tried again: "
    line += failure.reason.rstrip(".") + (f" ({when})" if when else "")
    return line + (f"; {failure.other_failures:,} more failed for other reasons" if failure.other_failures else "")


def _sum_up(groups: list[FailureGroup]) -> RetryReason:
    """Return the most frequent reason; groups whose texts differ only in numbers count as one."""
    by_reason: dict[str, list[FailureGroup]] = {}
    for group in groups:
        by_reason.setdefault(alike_key(short_line(group.text)), []).append(group)
    largest = max(by_reason.values(), key=_count)
    items = _count(largest)
    due = [group.seconds for group in largest if group.seconds is not None]
    return RetryReason(
        short_line(largest[0].text),
        items,
        groups[0].total - items,
        sum(group.running for group in largest),
        min(due, default=None),
    )


def _count(groups: Iterable[FailureGroup]) -> int:
    return sum(group.items for group in groups)
