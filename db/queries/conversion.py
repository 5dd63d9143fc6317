"""Read the figures of a conversion: its judged rows, their verdicts, check levels and subgoals.

A row is judged if its episode ended, but not with infra_error. It is accepted for a module if no verdict rejects the
training row of that module, and accepted for both if no verdict rejects any.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import ColumnElement, ColumnExpressionArgument, ScalarSelect, distinct, exists, func, select
from sqlalchemy.orm import aliased

from db.engine.connection import Connection
from db.models import CompletionRow, EpisodeRow, Item, SubgoalRow, TaskRow, VerdictRow
from lumos_queue.records import Ending, Role


class JudgedRows(NamedTuple):
    """The number of judged rows, and of those for which the teacher was asked more than once."""

    rows: int
    asked_again: int


class RejectedRows(NamedTuple):
    """The number of rejected rows by module, and of the rows that are rejected for at least one module."""

    by_module: dict[str, int]
    rows: int


class VerdictCount(NamedTuple):
    """The number of judged rows with a verdict on a module."""

    name: str
    rejects: bool
    module: str
    rows: int


class RowVerdicts(NamedTuple):
    """The names of some verdicts on a judged row, and the row's check level, '' if it has none."""

    level: str
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class ConvertedRow:
    """The result of a conversion for a row. `rejected` are the modules whose training row a verdict rejects."""

    row: str
    question: str
    judged: bool  #: whether its episode ended in a judgement
    rejected: frozenset[str]
    subgoals: int  #: of its annotation; 0 without an annotation


def count_judged(connection: Connection, job: str) -> JudgedRows:
    """Count the judged rows."""
    query = select(func.count(), func.count().filter(EpisodeRow.calls > 1)).select_from(EpisodeRow)
    rows, asked_again = connection.execute(query.where(*_is_judged(job))).one()
    return JudgedRows(rows, asked_again)


def count_rejected(connection: Connection, job: str) -> RejectedRows:
    """Count the rejected rows."""
    rows = func.count(distinct(VerdictRow.episode))
    conditions = (*_is_judged(job), VerdictRow.rejects)
    query = select(VerdictRow.module, rows).join(EpisodeRow, EpisodeRow.id == VerdictRow.episode).where(*conditions)
    by_module = {module: count for module, count in connection.execute(query.group_by(VerdictRow.module))}
    either = select(rows).join(EpisodeRow, EpisodeRow.id == VerdictRow.episode).where(*conditions)
    return RejectedRows(by_module, connection.execute(either).scalar_one())


def count_levels(connection: Connection, job: str) -> dict[str, int]:
    """Count the rows accepted for both modules by check level."""
    rows = connection.execute(
        select(EpisodeRow.level, func.count())
        .where(*_is_judged(job), EpisodeRow.level != "", _is_accepted())
        .group_by(EpisodeRow.level)
    )
    return {level: count for level, count in rows}


def count_verdicts(connection: Connection, job: str) -> list[VerdictCount]:
    """Count the judged rows by verdict and module."""
    columns = (VerdictRow.name, VerdictRow.rejects, VerdictRow.module)
    rows = connection.execute(
        select(*columns, func.count())
        .join(EpisodeRow, EpisodeRow.id == VerdictRow.episode)
        .where(*_is_judged(job))
        .group_by(*columns)
    )
    return [VerdictCount(name, bool(rejects), module, count) for name, rejects, module, count in rows]


def list_rejections(connection: Connection, job: str) -> list[RowVerdicts]:
    """Return the rejecting verdicts of each judged row that has such a verdict."""
    return _list_verdicts(connection, *_is_judged(job), VerdictRow.rejects)


def list_notes(connection: Connection, job: str) -> list[RowVerdicts]:
    """Return the verdicts that reject nothing, of each accepted row with a check level that has such a verdict."""
    return _list_verdicts(connection, *_is_judged(job), ~VerdictRow.rejects, _is_accepted(), EpisodeRow.level != "")


def list_converted_rows(connection: Connection, job: str) -> list[ConvertedRow]:
    """Return all rows of a conversion in order, also those that are not judged."""
    rejections: dict[int, set[str]] = {}
    query = select(VerdictRow.episode, VerdictRow.module).join(EpisodeRow, EpisodeRow.id == VerdictRow.episode)
    for episode, module in connection.execute(query.where(*_is_judged(job), VerdictRow.rejects)):
        rejections.setdefault(episode, set()).add(module)
    counts = connection.execute(select(EpisodeRow.id, _subgoals()).where(*_is_judged(job)))
    subgoals = {episode: count for episode, count in counts}
    rows = connection.execute(
        select(Item.id, TaskRow.row, TaskRow.question)
        .join(TaskRow, TaskRow.id == Item.task)
        .where(Item.job == job)
        .order_by(Item.ordinal)
    )
    return [
        ConvertedRow(row, question, item in subgoals, frozenset(rejections.get(item, ())), subgoals.get(item, 0))
        for item, row, question in rows
    ]


def average_subgoals(connection: Connection, job: str) -> float | None:
    """Return the average number of subgoals of the rows accepted for the planner; None if there are none."""
    rejected_episodes = select(VerdictRow.episode).where(VerdictRow.module == Role.PLANNER, VerdictRow.rejects)
    mean = connection.execute(
        select(func.avg(_subgoals()))
        .select_from(EpisodeRow)
        .where(*_is_judged(job), EpisodeRow.id.not_in(rejected_episodes))
    ).scalar()
    return None if mean is None else float(mean)


def _is_judged(job: str) -> tuple[ColumnElement[bool], ...]:
    """Return conditions on EpisodeRow for the judged rows of a conversion."""
    return (EpisodeRow.job == job, EpisodeRow.ending.not_in(("", Ending.INFRA_ERROR)))


def _is_accepted() -> ColumnElement[bool]:
    """Return the condition that no verdict rejects the row; the enclosing query may also join verdicts."""
    rejection = aliased(VerdictRow)
    return ~exists().where(rejection.episode == EpisodeRow.id, rejection.rejects)


def _list_verdicts(connection: Connection, *conditions: ColumnExpressionArgument[bool]) -> list[RowVerdicts]:
    """Return the names of the verdicts that meet the conditions, of each episode that has such a verdict."""
    rows = connection.execute(
        select(EpisodeRow.id, EpisodeRow.level, VerdictRow.name)
        .join(VerdictRow, VerdictRow.episode == EpisodeRow.id)
        .where(*conditions)
        .distinct()
    )
    names: dict[int, tuple[str, set[str]]] = {}
    for episode, level, name in rows:
        names.setdefault(episode, (level, set()))[1].add(name)
    return [RowVerdicts(level, frozenset(of_row)) for level, of_row in names.values()]


def _subgoals() -> ScalarSelect[int]:
    """Return the SQL expression for an annotation's number of subgoals, counted after the teacher's last reply."""
    conditions = (CompletionRow.episode == EpisodeRow.id, CompletionRow.attempt == EpisodeRow.attempt)
    last = (
        select(func.max(CompletionRow.position))
        .where(*conditions, CompletionRow.role == Role.TEACHER)
        .correlate(EpisodeRow)
        .scalar_subquery()
    )
    return (
        select(func.count())
        .where(
            SubgoalRow.episode == EpisodeRow.id,
            SubgoalRow.attempt == EpisodeRow.attempt,
            SubgoalRow.position > func.coalesce(last, -1),
        )
        .correlate(EpisodeRow)
        .scalar_subquery()
    )
