"""Stop a job because of one of its items: the job pauses or fails."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, update

from db.kinds.states import OPEN, JobState
from db.models import JobRow


@dataclass(frozen=True, slots=True)
class JobStop:
    """A request to stop a job until a person has read the reason and resumes the job."""

    state: JobState  #: PAUSED or FAILED
    reason: str  #: one line, for people


def stop_job(connection: Connection, job: str, stop: JobStop) -> None:
    """Stop a job that is open. A job that was stopped already keeps its state and its reason."""
    statement = update(JobRow).where(JobRow.id == job, JobRow.state.in_(OPEN))
    connection.execute(statement.values(state=stop.state, waiting=stop.reason))
