"""Stopping a job because of what came of one of its items: it pauses, or it has failed."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, update

from db.models import JobRow
from db.states import OPEN, JobState


@dataclass(frozen=True, slots=True)
class JobStop:
    """That a job must not go on by itself. Whoever resumes it has looked at the reason."""

    state: JobState  #: PAUSED or FAILED
    reason: str  #: one line, for people


def stop_job(connection: Connection, job: str, stop: JobStop) -> None:
    """Stop a job that is open; one that was stopped already keeps its reason."""
    mine = update(JobRow).where(JobRow.id == job, JobRow.state.in_(OPEN))
    connection.execute(mine.values(state=stop.state, waiting=stop.reason))
