"""Report whether a job has a result for each of its items, and the command that continues an incomplete job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from db.kinds.states import ItemState, JobState
from db.queue.stored_jobs import StoredJob
from db.queue.wait_reasons import PAUSED_BY_PERSON
from lumos_queue.records import Ending
from lumos_queue.reports.json_values import OPTIONAL

UNGRADED = "ungraded"  #: items whose answer has no grade, because no vote of a judge could be read
ENDED = (JobState.DONE, JobState.CANCELLED)  #: final states, which only a person changes


@dataclass(frozen=True, slots=True, kw_only=True)
class Completeness:
    """Whether all items of a job have a result, and how an incomplete job that stopped continues."""

    complete: bool
    #: items without a result, by state; None unless an incomplete job stopped
    lacking: Mapping[str, int] | None = field(default=None, metadata=OPTIONAL)
    go_on: str | None = field(default=None, metadata=OPTIONAL)  #: the command that continues an incomplete job
    state: str | None = field(default=None, metadata=OPTIONAL)  #: of a job that failed, or that paused by itself
    reason: str | None = field(default=None, metadata=OPTIONAL)  #: why this job failed or paused


def completeness(job: StoredJob, items: Mapping[str, int], endings: Mapping[str, int]) -> Completeness:
    """Return whether a job is complete.

    `items` are counts of items by state, `endings` counts of episodes by ending. An episode that ended with infra_error
    has no result.
    """
    missing_items = {state: count for state, count in items.items() if state != ItemState.DONE and count}
    if failures := endings.get(Ending.INFRA_ERROR):
        missing_items[Ending.INFRA_ERROR.value] = failures
    reason = stop_reason(job.state, job.waiting)
    has_stopped = missing_items and (job.state in ENDED or reason)
    return Completeness(
        complete=not missing_items,
        lacking=missing_items if has_stopped else None,
        go_on=f"lumos resume {job.id}" if has_stopped else None,
        state=job.state if reason else None,
        reason=reason or None,
    )


def stop_reason(state: str, wait_reason: str) -> str:
    """Return why a job has failed, or has paused although no person paused it; '' for other jobs.

    `wait_reason` is the column `waiting` of the job's row.
    """
    is_stopped = state == JobState.FAILED or (state == JobState.PAUSED and wait_reason != PAUSED_BY_PERSON)
    return wait_reason if is_stopped else ""


def remark(state: Completeness) -> str:
    """Return a line on an incomplete job that stopped; '' for other jobs."""
    if state.go_on is None:
        return ""
    if state.reason:
        hint = f". Once this is fixed, continue with: {state.go_on}"
        return f"{state.state}: {state.reason.rstrip('.')}{'' if state.go_on in state.reason else hint}"
    missing_items = sorted((state.lacking or {}).items())
    parts = ", ".join(f"{count:,} of its items {_WORDS.get(name, name)}" for name, count in missing_items)
    return f"incomplete: {parts}. Continue with: {state.go_on}"


_WORDS = {
    Ending.INFRA_ERROR: "ended with infra_error",
    UNGRADED: "have an answer that the judge gave no readable grade",
}
