"""The current score of an episode: that of the scorer's newest version, in the order of bytes."""

from __future__ import annotations

from sqlalchemy import ColumnElement, collate, exists
from sqlalchemy.orm import aliased

from db.models import ScoreRow


def is_replaced(dialect: str) -> ColumnElement[bool]:
    """Whether a newer version of the scorer has judged the episode of a row of ScoreRow."""
    later, order = aliased(ScoreRow), "C" if dialect == "postgresql" else "BINARY"
    return exists().where(
        later.episode == ScoreRow.episode,
        later.metric == ScoreRow.metric,
        collate(later.version, order) > collate(ScoreRow.version, order),
    )
