"""Read the accepted steps of a fit as a curve of bounded size, without reading every step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Connection, func, select

from db.kinds.states import ItemState
from db.models import FeedbackStepRow, Item, TrainingStepRow


class CurvePart(NamedTuple):
    """The mean over consecutive optimizer steps."""

    first: int
    last: int
    value: float | None  #: None: a loss among them is infinite


@dataclass(frozen=True, slots=True)
class StoredCurve:
    """The accepted steps of a fit."""

    is_reward: bool  #: whether the values are rewards instead of losses
    parts: Sequence[CurvePart]
    window_ends: Sequence[int]  #: the last step of each item
    outputs: Sequence[Any]  #: of the items with these steps, in their order


def read_curve(connection: Connection, job: str, fit: str, part_size: int) -> StoredCurve:
    """Return the curve of a fit with the means of each `part_size` steps: of rewards if it has any, else of losses."""
    parts = _read_parts(connection, job, fit, part_size, is_reward=True)
    is_reward = bool(parts)
    steps = TrainingStepRow
    items = (
        select(Item.output, func.max(steps.step))
        .join(steps, steps.item == Item.id)
        .where(steps.job == job, steps.fit == fit, Item.state == ItemState.DONE)
        .group_by(Item.id)
        .order_by(Item.ordinal)
    )
    rows = connection.execute(items).all()
    return StoredCurve(
        is_reward,
        parts or _read_parts(connection, job, fit, part_size, is_reward=False),
        [end for _, end in rows],
        [output or {} for output, _ in rows],
    )


def _read_parts(connection: Connection, job: str, fit: str, part_size: int, is_reward: bool) -> list[CurvePart]:
    table = FeedbackStepRow if is_reward else TrainingStepRow
    value = FeedbackStepRow.reward if is_reward else TrainingStepRow.loss
    number = (table.step - 1) // part_size
    means = (
        select(func.min(table.step), func.max(table.step), func.avg(value), func.count(value), func.count())
        .where(table.job == job, table.fit == fit)
        .group_by(number)
        .order_by(func.min(table.step))
    )
    return [
        CurvePart(first, last, mean if finite_steps == steps else None)
        for first, last, mean, finite_steps, steps in connection.execute(means)
    ]
