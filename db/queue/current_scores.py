"""The current score of an episode is that of the scorer's newest version. Versions are compared byte by byte."""

from __future__ import annotations

from sqlalchemy import ColumnElement, collate, exists
from sqlalchemy.orm import aliased

from db.models import ScoreRow


def is_replaced(dialect: str) -> ColumnElement[bool]:
    """Return the condition, on a row of ScoreRow, that a newer version of the scorer has judged the same episode."""
    later, order = aliased(ScoreRow), "C" if dialect == "postgresql" else "BINARY"
    return exists().where(
        later.episode == ScoreRow.episode,
        later.metric == ScoreRow.metric,
        collate(later.version, order) > collate(ScoreRow.version, order),
    )
