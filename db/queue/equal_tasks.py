"""Find equal tasks of two datasets. White space in questions does not count.

Readers once removed white space from questions, so a job from before and a job from after that change have different
datasets of the same file.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Connection, Text, and_, cast, exists, func, or_, select
from sqlalchemy.orm import aliased

from db.engine.white_space import without_space
from db.models import Dataset, TaskRow


def match_tasks(connection: Connection, first: Any, second: Any) -> ColumnElement[bool]:
    """Return the condition that two rows of the table of tasks have the same id, question and gold answer."""
    left, right = (without_space(connection, task.question) for task in (first, second))
    same_question = or_(first.question == second.question, left == right)
    return and_(first.row == second.row, same_question, _as_text(first.gold) == _as_text(second.gold))


def have_equal_tasks(connection: Connection, first: str, second: str) -> bool:
    """Return whether two datasets, by their digests, have equal tasks with equal inputs in the same order."""
    counts = connection.execute(select(Dataset.rows).where(Dataset.digest.in_((first, second)))).scalars().all()
    if len(counts) != 2 or counts[0] != counts[1]:
        return False
    task, counterpart = aliased(TaskRow), aliased(TaskRow)
    has_counterpart = exists().where(
        counterpart.dataset == second,
        counterpart.ordinal == task.ordinal,
        match_tasks(connection, task, counterpart),
        _as_text(task.inputs) == _as_text(counterpart.inputs),
    )
    unmatched_tasks = select(task.id).where(task.dataset == first, ~has_counterpart).limit(1)
    return connection.execute(unmatched_tasks).first() is None


def _as_text(column: Any) -> ColumnElement[str]:
    """Return a JSON column as text; '' for null."""
    return func.coalesce(cast(column, Text), "")
