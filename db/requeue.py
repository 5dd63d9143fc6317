"""Owing again what failures of one class have ended, and nothing else of a job."""

from __future__ import annotations

from sqlalchemy import and_, update

from db.connection import Database
from db.endings import take_back
from db.failure_classes import FailureClass
from db.failures import count_failures, failed_items
from db.jobs import lock_job
from db.models import Item, JobRow
from db.states import ItemState, JobState
from db.sums import change_states
from lumos_queue.errors import SpecError


def requeue(database: Database, job: str, wanted: FailureClass) -> int:
    """Owe the job's items again that a failure of that class has ended; returns how many.

    What the endings had been is kept, as db/endings.py has it; a cancelled item of the job stays cancelled. Raises
    SpecError when there is none, and while the job is being cancelled.
    """
    with database.writer.begin() as connection:
        row = lock_job(connection, job)
        if row is None:
            raise SpecError(f"Job {job} was removed meanwhile. List the jobs there are with: lumos jobs")
        if row.state == JobState.CANCELLING:
            raise SpecError(f"Job {job} is being cancelled: try again once it is, or go on with: lumos resume {job}")
        found = count_failures(connection, job)
        if wanted == FailureClass.DIED:
            owed = found.get(wanted, 0)
            quarantined = and_(Item.job == job, Item.state == ItemState.QUARANTINED)
            again = {"state": ItemState.OWED, "not_before_at": 0.0, "deaths": 0}
            if owed:
                change_states(connection, job, quarantined, again)
        else:
            owed = take_back(connection, job, failed_items(connection, job, wanted))
        if not owed:
            others = ", ".join(f"{kind} {count:,}" for kind, count in found.items())
            known = f"there are: {others}" if others else "it has no failures"
            raise SpecError(f"No item of job {job} ended with '{wanted}'; {known}.")
        changes = {"state": JobState.QUEUED, "not_before_at": 0.0, "waits": 0, "waiting": "", "finished_at": None}
        connection.execute(update(JobRow).where(JobRow.id == job).values(changes))
        return owed
