"""Take a label back: the only way in which a label is removed."""

from __future__ import annotations

from sqlalchemy import delete, func, select

from db.connection import Database
from db.models import Label
from db.web_actions import PersonAction


def take_back_label(database: Database, episode: int, labeller: str, action: PersonAction | None = None) -> str | None:
    """Remove the person's newest label of the whole episode; return its value, None if there is none.

    The label before it counts again. The row itself is removed, because every count, filter, audit and export reads the
    newest row of a person, and would have to skip labels that were taken back. `action` is recorded with the removal.
    Labels of audits stay, because their agreement was measured.
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
