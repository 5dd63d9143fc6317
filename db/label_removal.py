"""Taking a label back: the one exception to labels only being added."""

from __future__ import annotations

from sqlalchemy import delete, func, select

from db.connection import Database
from db.models import Label


def take_back_label(database: Database, episode: int, labeller: str) -> str | None:
    """Remove the person's own newest label of the whole episode; returns what it said, None where there is none.

    The label before it counts again. The row is removed, and no row is added that says so: every count, filter, audit
    and export reads the newest row of a person, and would have to know of labels that say nothing. Who took what back
    is kept by db.web_actions, which the caller writes. Labels of audits are left alone: their agreement was measured.
    """
    own = (
        Label.episode == episode,
        Label.labeller == labeller,
        Label.position.is_(None),
        Label.audit.is_(None),
    )
    with database.writer.begin() as connection:
        newest = select(func.max(Label.id)).where(*own).scalar_subquery()
        return connection.execute(delete(Label).where(Label.id == newest, *own).returning(Label.value)).scalar()
