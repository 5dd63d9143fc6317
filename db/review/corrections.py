"""Queries of stored corrections."""

from __future__ import annotations

from sqlalchemy import Connection, select

from db.kinds.job_kinds import JobKind
from db.models import EpisodeRow, Item, JobRow

MAX_LOOKED_AT = 1_000  #: corrections of one episode


def find_correction(connection: Connection, parent: int, person: str, text: str) -> str | None:
    """Return the name JOB-NUMBER of the person's correction of this episode with exactly this text, or None."""
    task = select(EpisodeRow.task).where(EpisodeRow.id == parent).scalar_subquery()
    query = (
        select(EpisodeRow.job, Item.ordinal, JobRow.spec)
        .join(Item, Item.id == EpisodeRow.id)
        .join(JobRow, JobRow.id == EpisodeRow.job)
        # The task has an index, the parent has none.
        .where(EpisodeRow.task == task, EpisodeRow.parent == parent, JobRow.submitted_by == person)
        .where(JobRow.kind == JobKind.CORRECT)
        .order_by(EpisodeRow.id.desc())
        .limit(MAX_LOOKED_AT)
    )
    rows = connection.execute(query)
    return next((f"{job}-{ordinal}" for job, ordinal, spec in rows if spec and spec.get("text") == text), None)
