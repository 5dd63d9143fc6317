"""Read labels: people's opinions of episodes and steps. A person's newest label counts.

A rating, from 1 to 10, is a label of a whole episode. A person's newest rating and newest other label both count.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, case, select

from db.models import Item, Label

VALUES = ("right", "wrong", "unsure")


RATINGS = tuple(map(str, range(1, 11)))


#: The number of a rating. A cast would fail on PostgreSQL for other labels.
RATING: ColumnElement[int | None] = case({rating: int(rating) for rating in RATINGS}, value=Label.value)


#: What is wrong in an annotation: an operand is not the value that the row means, a number is in neither question nor
#: row, a subgoal describes another step, a result is wrong, or a text cannot be understood.
KINDS = ("link", "number", "sub-question", "result", "wording")


class NewestLabel(NamedTuple):
    """A person's newest label of an episode in an audit, with the wrong step and the kind of fault that it names."""

    value: str
    note: str
    wrong_position: int | None = None
    wrong_branch: int | None = None
    wrong_kind: str = ""


def labels_of(connection: Connection, episode: int) -> list[Any]:
    """Return each person's newest label and newest rating of the episode, then the newest labels of its steps."""
    newest: dict[tuple[Any, ...], Any] = {}
    for row in connection.execute(select(Label.__table__).where(Label.episode == episode).order_by(Label.id)):
        newest[row.labeller, row.position, row.branch, row.value in RATINGS] = row
    return sorted(newest.values(), key=lambda row: (row.position is not None, row.position, row.branch, row.id))


def newest_of_audit(connection: Connection, audit: str) -> dict[tuple[int, str], NewestLabel]:
    """Return each person's newest label of each episode in the audit, by (episode, person)."""
    columns = (getattr(Label, name) for name in NewestLabel._fields)
    rows = connection.execute(
        select(Label.episode, Label.labeller, *columns)
        .where(Label.audit == audit, Label.position.is_(None))
        .order_by(Label.id)
    )
    return {(episode, labeller): NewestLabel(*label) for episode, labeller, *label in rows}


def newest_ratings(connection: Connection, job: str) -> list[tuple[int, str, int]]:
    """Return (episode, person, rating) for each person's newest rating of each of the job's episodes."""
    ratings: dict[tuple[int, str], int] = {}
    rows = connection.execute(
        select(Label.episode, Label.labeller, Label.value)
        .join(Item, Item.id == Label.episode)
        .where(Item.job == job, Label.value.in_(RATINGS))
        .order_by(Label.id)
    )
    for episode, labeller, value in rows:
        ratings[episode, labeller] = int(value)
    return [(episode, labeller, value) for (episode, labeller), value in sorted(ratings.items())]
