"""Read labels: people's opinions of episodes and steps. A person's newest label counts.

A rating, from 1 to 10, is a label of a whole episode. A person's newest rating and newest other label both count.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, case, exists, not_, select
from sqlalchemy.orm import aliased

from db.engine.whole_rows import read_rows
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


class Rating(NamedTuple):
    """A person's newest rating of an episode."""

    episode: int
    labeller: str
    value: int
    task: int | None  #: key of the episode's task


def labels_of(connection: Connection, episode: int) -> list[Label]:
    """Return each person's newest label and newest rating of the episode, then the newest labels of its steps."""
    newest: dict[tuple[str, int | None, int | None, bool], Label] = {}
    query = select(Label.__table__).where(Label.episode == episode).order_by(Label.id)
    for row in read_rows(connection, Label, query):
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


def newest_ratings(connection: Connection, job: str) -> list[Rating]:
    """Return each person's newest rating of each of the job's episodes, in the order of episodes and people."""
    ratings: dict[tuple[int, str], Rating] = {}
    rows = connection.execute(
        select(Label.episode, Label.labeller, Label.value, Item.task)
        .join(Item, Item.id == Label.episode)
        .where(Item.job == job, Label.value.in_(RATINGS))
        .order_by(Label.id)
    )
    for episode, labeller, value, task in rows:
        ratings[episode, labeller] = Rating(episode, labeller, int(value), task)
    return [rating for _, rating in sorted(ratings.items())]


def find_wrong_episodes(connection: Connection) -> frozenset[int]:
    """Return the episodes that any person's newest label of the episode or of one of its steps calls wrong."""
    later = aliased(Label)
    newer_label = exists().where(
        later.episode == Label.episode,
        later.labeller == Label.labeller,
        later.id > Label.id,
        later.value.in_(VALUES),  # a rating replaces no label
        later.position.is_not_distinct_from(Label.position),
        later.branch.is_not_distinct_from(Label.branch),
    )
    wrong = select(Label.episode).where(Label.value == "wrong", not_(newer_label)).distinct()
    return frozenset(connection.execute(wrong).scalars())
