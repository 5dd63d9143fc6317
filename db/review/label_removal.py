"""Take back a label that a person gave outside audits. db/review/reservations.py takes back labels of audits."""

from __future__ import annotations

from sqlalchemy import delete, func, select

from db.engine.connection import Database
from db.models import Label
from db.queue.web_actions import PersonAction


def take_back_label(database: Database, episode: int, labeller: str, action: PersonAction | None = None) -> str | None:
    """Remove the person's newest label of the whole episode; return the label's value, or None if there is no label.

    The person's previous label counts again. The row is deleted and not marked, because every count, filter, audit and
    export reads a person's newest row. `action` is recorded with the removal. Labels of audits stay, because the
    agreement of their labellers was measured.
    """
    conditions = (
        Label.episode == episode,
        Label.labeller == labeller,
        Label.position.is_(None),
        Label.audit.is_(None),
    )
    with database.writer.begin() as connection:
        newest = select(func.max(Label.id)).where(*conditions).scalar_subquery()
        removal = delete(Label).where(Label.id == newest, *conditions).returning(Label.value)
        value = connection.execute(removal).scalar()
        if action and value is not None:
            action.record(connection, value)
        return value
