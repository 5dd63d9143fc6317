"""Report whether a job has a result for each of its items, and the command that continues an incomplete job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from db.kinds.states import ItemState, JobState
from db.queue.stored_jobs import StoredJob
from db.queue.wait_reasons import PAUSED_BY_PERSON
from lumos_queue.records import Ending

UNGRADED = "ungraded"  #: items whose answer has no grade, because no vote of a judge could be read
ENDED = (JobState.DONE, JobState.CANCELLED)  #: final states, which only a person changes


def completeness(job: StoredJob, items: Mapping[str, int], endings: Mapping[str, int]) -> dict[str, Any]:
    """Return `complete`, and for an incomplete job that stopped, `lacking` and `go_on`.

    `lacking` counts the items without a result, by state; `go_on` is a command. A job that failed, or that paused by
    itself, also has its `state` and the `reason`. `items` are counts of items by state, `endings` counts of episodes by
    ending. An episode that ended with infra_error has no result.
    """
    missing_items = {state: count for state, count in items.items() if state != ItemState.DONE and count}
    if failures := endings.get(Ending.INFRA_ERROR):
        missing_items[Ending.INFRA_ERROR.value] = failures
    report: dict[str, Any] = {"complete": not missing_items}
    reason = stop_reason(job.state, job.waiting)
    if missing_items and (job.state in ENDED or reason):
        report |= {"lacking": missing_items, "go_on": f"lumos resume {job.id}"}
    if reason:
        report |= {"state": job.state, "reason": reason}
    return report


def stop_reason(state: str, wait_reason: str) -> str:
    """Return why a job has failed, or has paused although no person paused it; '' for other jobs.

    `wait_reason` is the column `waiting` of the job's row.
    """
    is_stopped = state == JobState.FAILED or (state == JobState.PAUSED and wait_reason != PAUSED_BY_PERSON)
    return wait_reason if is_stopped else ""


def remark(report: Mapping[str, Any]) -> str:
    """Return a line on an incomplete job that stopped, from its report or from `completeness`; '' for other jobs."""
    if "go_on" not in report:
        return ""
    if reason := report.get("reason"):
        hint = f". Once this is fixed, continue with: {report['go_on']}"
        return f"{report['state']}: {reason.rstrip('.')}{'' if report['go_on'] in reason else hint}"
    missing_items = sorted(report["lacking"].items())
    parts = ", ".join(f"{count:,} of its items {_WORDS.get(name, name)}" for name, count in missing_items)
    return f"incomplete: {parts}. Continue with: {report['go_on']}"


_WORDS = {
    Ending.INFRA_ERROR: "ended with infra_error",
    UNGRADED: "have an answer that the judge gave no readable grade",
}
