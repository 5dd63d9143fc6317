"""Taking endings back: episodes that infrastructure ended are owed again, and what they had been is kept."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    Connection,
    Select,
    and_,
    case,
    cast,
    delete,
    exists,
    func,
    insert,
    literal,
    literal_column,
    select,
    update,
)
from sqlalchemy.sql.elements import ColumnElement

from db.connection import now, numbers
from db.models import EndingHistory, EpisodeRow, Item, JobRow, ScoreRow, VerdictRow
from db.states import ItemState
from db.sums import add_counted

TAKEN_BACK = "infra_error"
STORED = ("imported", "corrected")  #: origins of jobs whose episodes no worker runs: they are stored whole
_KEPT: dict[Any, tuple[str, ...]] = {
    ScoreRow: ("metric", "version", "value", "trials", "detail"),
    VerdictRow: ("module", "name", "rejects", "detail"),
}


def take_back(connection: Connection, job: str, only: Sequence[int] | None = None) -> int:
    """Owe a job's `infra_error` episodes again, in the caller's transaction, which locks the job; returns how many.

    `only`: of these items (their keys); None: all.
    Ending, answer, message, scores and verdicts move to `ending_history`; the attempt and its steps stay, so that the
    episode goes on by replay, and so does whatever refers to the episode. The statements touch all episodes at once.
    """
    accepted = exists().where(EpisodeRow.id == Item.id, EpisodeRow.ending == TAKEN_BACK)
    runs = exists().where(JobRow.id == job, JobRow.origin.not_in(STORED))
    which = and_(Item.job == job, Item.state == ItemState.DONE, accepted, runs)
    if only is not None:
        which = and_(which, Item.id.op("IN")(numbers(literal(json.dumps(only)))))
    add_counted(connection, 0, which, sign=-1)
    owed = connection.execute(
        update(Item).where(which).values(state=ItemState.OWED, not_before_at=0.0, deaths=0, failures=0, problem="")
    ).rowcount
    if not owed:
        return 0
    # Items that are owed though their episode has ended: they exist only between these two statements.
    taken = (
        select(EpisodeRow.id)
        .join(Item, Item.id == EpisodeRow.id)
        .where(EpisodeRow.job == job, EpisodeRow.ending == TAKEN_BACK, Item.state == ItemState.OWED)
    )
    names, kept = _history(connection.dialect.name)
    connection.execute(insert(EndingHistory).from_select(names, kept.where(EpisodeRow.id.in_(taken))))
    for table in _KEPT:
        connection.execute(delete(table).where(table.episode.in_(taken)))
    connection.execute(
        update(EpisodeRow)
        .where(EpisodeRow.id.in_(taken))
        .values(ending="", answer=None, message="", level="", finished_at=None)
    )
    return owed


def _history(dialect: str) -> tuple[list[str], Select]:
    """Columns of `ending_history`, and the episodes' values for them."""
    before = select(func.count()).where(EndingHistory.episode == EpisodeRow.id).correlate(EpisodeRow).scalar_subquery()
    values = {
        "episode": EpisodeRow.id,
        "number": before + 1,
        "scores": _as_json(dialect, ScoreRow),
        "verdicts": _as_json(dialect, VerdictRow),
        "replaced_at": now(),
    } | {name: getattr(EpisodeRow, name) for name in ("ending", "message", "answer", "attempt", "finished_at")}
    return list(values), select(*values.values())


def _as_json(dialect: str, table: Any) -> ColumnElement:
    """An episode's rows of `table` as a JSON list of objects; [] when there are none."""
    postgresql = dialect == "postgresql"
    pairs = []
    for name in _KEPT[table]:
        column = getattr(table, name)
        if isinstance(column.type, Boolean) and not postgresql:  # in SQLite's JSON it would be a number
            column = func.json(case((column, "true"), else_="false"))
        pairs += [literal_column(f"'{name}'"), column]
    gather, make = (func.json_agg, func.json_build_object) if postgresql else (func.json_group_array, func.json_object)
    rows = select(gather(make(*pairs))).where(table.episode == EpisodeRow.id).correlate(EpisodeRow).scalar_subquery()
    return func.coalesce(rows, cast(literal_column("'[]'"), JSON)) if postgresql else rows
