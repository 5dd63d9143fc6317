"""The real state of a job: the stored state, and whether any process works on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from db.engine.connection import Connection
from db.engine.lease import Lease
from db.kinds.pools import describe_lack
from db.kinds.states import OPEN, JobState
from db.queries.open_jobs import find_open_jobs
from db.queue.presence import Presence, read_presence
from db.queue.stored_jobs import StoredJob
from db.queue.wait_reasons import HOW, PAUSED_BY_PERSON, awaits_job
from lumos_queue.errors import unknown
from lumos_queue.reports.retry_reasons import describe_retry_reason, read_retry_reason


class RealState(StrEnum):
    """The real states of jobs, with the texts for people."""

    IMPORTING = "importing"  #: its episodes are being stored
    QUEUED = "queued"  #: no item is held, and a live worker process can take one
    RUNNING = "running"  #: a live worker process holds items
    WAITING = "waiting"  #: waits for an endpoint, another job, a person's approval, or after deaths of processes
    NOBODY = "nobody works on it"  #: it can run, and no live worker process can run it
    STOPPING = "stopping"  #: it was paused or cancelled, and live worker processes still hold items
    PAUSED = "paused"  #: until a person resumes it
    FAILED = "failed"  #: until a person resumes it
    CANCELLED = "cancelled"  #: its stored results remain
    INCOMPLETE = "incomplete"  #: it ended, and some items have no result: quarantined, or an infra_error
    DAMAGED = "damaged"  #: its row cannot be read
    DONE = "done"  #: every item has its result


WAITED = "it waited: "  #: prefix of the reason of a job that waited before, and that nobody works on


@dataclass(frozen=True, slots=True)
class Standing:
    """The real state of a job and its reason: what it waits for, why items fail, or what stopped it; '' if none."""

    state: RealState
    reason: str = ""

    @property
    def words(self) -> str:
        """State and reason on one line, not sanitized: `running`, `waiting: tgi://… does not answer`."""
        return f"{self.state}: {self.reason}" if self.reason else str(self.state)


def read_state(text: str) -> RealState:
    """Return the state with that name or first word. Raises SpecError, which lists the states, for other texts."""
    for state in RealState:
        if text in (state, state.partition(" ")[0]):
            return state
    raise unknown("state", text, RealState)


def real_states(
    connection: Connection,
    jobs: Sequence[StoredJob],
    lease: Lease,
    missing_counts: Mapping[str, int] | None = None,
) -> dict[str, Standing]:
    """Return the real states of jobs by id, with four small queries for any number of jobs.

    `missing_counts` has, by job, the number of items that ended without a result; a job that it lacks has 0.
    """
    presence = read_presence(connection, lease)
    awaited_jobs = {job.awaits for job in jobs if job.awaits and job.state in OPEN and awaits_job(job)}
    open_jobs = find_open_jobs(connection, awaited_jobs)
    by_job = read_retry_reason(connection, [job.id for job in jobs if job.state in OPEN])
    failures = {job: describe_retry_reason(failure) for job, failure in by_job.items()}
    return {
        job.id: real_state(job, presence, open_jobs, (missing_counts or {}).get(job.id, 0), failures.get(job.id, ""))
        for job in jobs
    }


def real_state(
    job: StoredJob, presence: Presence, open_jobs: set[str], missing_items: int = 0, failures: str = ""
) -> Standing:
    """Return the real state of a job. `open_jobs` are the awaited jobs that have not ended.

    `failures` is a text that says why items of the job fail and are tried again; '' if none fails.
    """
    held_items, reason = presence.held.get(job.id, 0), " ".join(job.waiting.split())
    if job.state in OPEN:
        return _of_open(job, held_items, reason, presence, open_jobs, failures)
    if job.state in (JobState.PAUSED, JobState.CANCELLING) and held_items:
        return Standing(RealState.STOPPING)
    if job.state == JobState.CANCELLING:  # a live process ends it; without live processes, it has stopped anyway
        return Standing(RealState.STOPPING if presence.workers else RealState.CANCELLED)
    if job.state in (JobState.PAUSED, JobState.FAILED):
        return Standing(RealState(job.state), "" if job.waiting == PAUSED_BY_PERSON else reason)
    if job.state == JobState.DONE and missing_items:
        return Standing(RealState.INCOMPLETE, f"{missing_items:,} without a result")
    return Standing(RealState(job.state))


def _of_open(
    job: StoredJob, held_items: int, reason: str, presence: Presence, open_jobs: set[str], failures: str
) -> Standing:
    if HOW in reason:  # it waits for a person, with or without a live process
        return Standing(RealState.WAITING, reason)
    if awaits_job(job) and job.awaits not in open_jobs:
        reason = ""  # the awaited job has ended; the next slice updates the reason
    if held_items and not reason:
        return Standing(RealState.RUNNING, failures)
    if not presence.workers:
        return Standing(RealState.NOBODY, f"{WAITED}{reason}" if reason else "")
    if not held_items and not awaits_job(job) and (lack := describe_lack(presence.sessions, job.pool)):
        return Standing(RealState.NOBODY, lack)
    if reason:
        return Standing(RealState.WAITING, reason)
    # This is also the state between two slices, while other jobs have their turn.
    return Standing(RealState.QUEUED, failures)
