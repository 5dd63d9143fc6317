"""Explain why a job waits, and what a person can do about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from db.kinds.pools import describe_lack
from db.kinds.states import OPEN, ItemState, JobState
from db.queue.approval_waits import HOW, describe_awaiting
from db.queue.job_changes import PAUSED_BY_PERSON
from db.queue.sessions import LiveSession
from db.queue.stored_jobs import AwaitedJob, StoredJob
from lumos_queue.live.figures import JobFigures
from lumos_queue.reports.retry_reasons import describe_retry_reason
from lumos_queue.settings import Settings
from lumos_queue.util.wording import format_rough_seconds

LATE_BEATS = 2.5  #: heartbeats that a worker may miss before it counts as silent


def find_waits(
    figures: JobFigures,
    sessions: Sequence[LiveSession],
    held_items: Mapping[int, Mapping[str, int]],
    clock: float,
    settings: Settings,
) -> list[str]:
    """Return lines on why a job waits; none if it does not wait. `sessions`: the live workers.

    `held_items`: by session and job, the number of claimed items. `clock`: the database's, in seconds since 1970.
    """
    row = figures.row
    if row.state == JobState.PAUSED:
        reason = "by a person" if row.waiting == PAUSED_BY_PERSON else row.waiting
        return [f"paused: {reason}. Continue with: lumos resume {row.id}"]
    if row.state == JobState.FAILED:
        return [f"failed: {row.waiting.rstrip('.')}. Once this is fixed: lumos resume {row.id}"]
    claimed_items, waits = figures.items.get(ItemState.CLAIMED, 0), []
    if row.state == JobState.CANCELLING:
        waits.append(f"is being cancelled: {claimed_items:,} items are still held by workers")
    if row.state in OPEN:
        waits += _waits_of_open(figures, clock)
        plans = figures.items.get(ItemState.AWAITING, 0)
        if plans and not any(HOW in line for line in waits):
            waits.append(describe_awaiting(plans, row.id))
        failures = describe_failures(figures)
        if lack := _find_lack(figures, claimed_items, waits, sessions):
            waits.append(f"nobody works on it: {lack}")
        elif not waits and not claimed_items and not (failures and sessions) and not _has_news(figures, settings):
            waits.append(_nobody(row.id, len(sessions), len(held_items)))
        waits += [failures] * bool(failures)
    return waits + _silent_workers(row.id, sessions, held_items, settings)


def _has_news(figures: JobFigures, settings: Settings) -> bool:
    """Whether a training process reported within the latest heartbeats: the next item is about to be claimed."""
    return any(fit.age_seconds <= LATE_BEATS * settings.heartbeat_seconds for fit in figures.fits)


def _find_lack(figures: JobFigures, claimed_items: int, waits: Sequence[str], sessions: Sequence[LiveSession]) -> str:
    """Return why no live worker can run the job; '' if a worker can, or if the job waits for a job or a person."""
    if claimed_items or figures.awaited or any(HOW in line for line in waits):
        return ""
    return describe_lack(sessions, figures.row.pool)


def describe_awaited(job: StoredJob, awaited_job: AwaitedJob | None) -> str:
    """Return the reason why `job` waits and the progress of the awaited job, to append to a line; '' if it is None."""
    return f" · {job.waiting}, {awaited_job.done:,}/{awaited_job.items:,}" if awaited_job else ""


def describe_failures(figures: JobFigures) -> str:
    """Return why items of the figures' `holder` fail and when they are retried; '' if no item fails."""
    if (failures := figures.failing) is None:
        return ""
    job = f"job {figures.holder.id}: " if figures.awaited else ""
    if failures.running:
        return job + describe_retry_reason(failures, "being tried now")
    due = failures.seconds is None or failures.seconds <= 0
    return job + describe_retry_reason(
        failures, "due now" if due else f"next try in {format_rough_seconds(failures.seconds or 0)}"
    )


def is_silent(session: LiveSession, settings: Settings) -> bool:
    """Whether a worker has missed more than LATE_BEATS heartbeats, although it is not yet declared dead."""
    return session.silent_seconds > LATE_BEATS * settings.heartbeat_seconds


def _waits_of_open(figures: JobFigures, clock: float) -> list[str]:
    row, holder = figures.row, figures.holder
    waits = []
    if figures.awaited:
        waits.append("waits for " + describe_awaited(row, figures.awaited).removeprefix(" · "))
    if holder.waiting and not (figures.awaited and holder is row):
        again = holder.not_before_at - clock
        waits.append(
            f"waits: {holder.waiting.rstrip('.')}"
            + (f"; tried again in {format_rough_seconds(again)}" if again > 0 else "")
        )
    return waits


def _nobody(job: str, alive: int, busy: int) -> str:
    if not alive:
        return (
            "nobody works on it: no worker is alive. Start one with: lumos worker, "
            f"or continue here: lumos resume {job}"
        )
    if not busy:
        return f"nobody works on it yet: {alive:,} worker{'s are' if alive > 1 else ' is'} idle"
    workers = f"{busy:,} of {alive:,} workers work" if alive > 1 else "the only worker works"
    return f"nobody works on it yet: {workers} on other jobs"


def _silent_workers(
    job: str, sessions: Sequence[LiveSession], held_items: Mapping[int, Mapping[str, int]], settings: Settings
) -> list[str]:
    """Return lines about silent workers with items of the job. These items will soon be pending again."""
    lines = []
    for session in sessions:
        items, silent = held_items.get(session.id, {}).get(job, 0), session.silent_seconds
        if items and is_silent(session, settings):
            remaining = format_rough_seconds(settings.lease_seconds - silent)
            silence = format_rough_seconds(silent)
            lines.append(
                f"worker {session.id} ({session.host}:{session.pid}) has been silent for {silence}: "
                f"in {remaining} its {items:,} item{'s are' if items > 1 else ' is'} pending again"
            )
    return lines
