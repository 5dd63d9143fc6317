"""Make the items that failures of one class have ended pending again, and no other items of the job."""

from __future__ import annotations

from sqlalchemy import and_, update

from db.engine.connection import Database
from db.kinds.failure_classes import FailureClass
from db.kinds.states import ItemState, JobState
from db.models import Item, JobRow
from db.queries.failures import count_failures, find_failed_items
from db.queue.endings import take_back
from db.queue.job_changes import lock_job
from db.queue.sums import change_states
from db.queue.web_actions import PersonAction
from lumos_queue.errors import SpecError


def requeue(database: Database, job: str, failure_class: FailureClass, action: PersonAction | None = None) -> int:
    """Make those items of the job pending again that a failure of that class has ended; return their number.

    `action` is recorded with the change. The former endings are stored (db/queue/endings.py). A cancelled item of the
    job stays cancelled. Raises SpecError when there is no such item, and while the job is being cancelled.
    """
    with database.writer.begin() as connection:
        row = lock_job(connection, job)
        if row is None:
            raise SpecError(f"Job {job} was removed meanwhile. List the jobs with: lumos jobs")
        if row.state == JobState.CANCELLING:
            raise SpecError(
                f"Job {job} is being cancelled: try again once it is cancelled, or continue it with: lumos resume {job}"
            )
        counts = count_failures(connection, job)
        if failure_class == FailureClass.DIED:
            total = counts.get(failure_class, 0)
            is_quarantined = and_(Item.job == job, Item.state == ItemState.QUARANTINED)
            new_state = {"state": ItemState.OWED, "not_before_at": 0.0, "deaths": 0}
            if total:
                change_states(connection, job, is_quarantined, new_state)
        else:
            total = take_back(connection, job, find_failed_items(connection, job, failure_class))
        if not total:
            classes = ", ".join(f"{kind} {count:,}" for kind, count in counts.items())
            hint = f"there are: {classes}" if classes else "it has no failures"
            raise SpecError(f"No item of job {job} ended with '{failure_class}'; {hint}.")
        changes = {"state": JobState.QUEUED, "not_before_at": 0.0, "waits": 0, "waiting": "", "finished_at": None}
        connection.execute(update(JobRow).where(JobRow.id == job).values(changes))
        if action:
            action.record(connection, f"{failure_class}: {total} items")
        return total
