"""Take endings back: make episodes that infrastructure ended pending again, and store their former endings."""

from __future__ import annotations

import json
from collections.abc import Sequence

from sqlalchemy import (
    JSON,
    Boolean,
    Connection,
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

from db.engine.conditions import Query, Value
from db.engine.connection import now, numbers
from db.kinds.states import ItemState
from db.models import EndingHistory, EpisodeRow, Item, JobRow, ScoreRow, VerdictRow
from db.queue.sums import add_counted
from lumos_queue.records import Ending, Origin

TAKEN_BACK = Ending.INFRA_ERROR
STORED = (Origin.IMPORTED, Origin.CORRECTED)  #: origins of jobs whose episodes no worker runs: they are stored whole
_KEPT: dict[type[ScoreRow] | type[VerdictRow], tuple[str, ...]] = {
    ScoreRow: ("metric", "version", "value", "trials", "detail"),
    VerdictRow: ("module", "name", "rejects", "detail"),
}


def take_back(connection: Connection, job: str, only: Sequence[int] | None = None) -> int:
    """Make a job's `infra_error` episodes pending again; return their number. The caller has locked the job.

    `only`: the keys of the items to change; None: all. Ending, answer, message, scores and verdicts move to
    `ending_history`. The attempt and its steps stay, so that the episode continues by replay. Labels and other
    references to the episode stay as well. Each statement changes all episodes at once.
    """
    has_ending = exists().where(EpisodeRow.id == Item.id, EpisodeRow.ending == TAKEN_BACK)
    runs = exists().where(JobRow.id == job, JobRow.origin.not_in(STORED))
    condition = and_(Item.job == job, Item.state == ItemState.DONE, has_ending, runs)
    if only is not None:
        condition = and_(condition, Item.id.op("IN")(numbers(literal(json.dumps(only)))))
    add_counted(connection, 0, condition, sign=-1)
    count = connection.execute(
        update(Item).where(condition).values(state=ItemState.OWED, not_before_at=0.0, deaths=0, failures=0, problem="")
    ).rowcount
    if not count:
        return 0
    # These items are pending though their episode has ended: such items exist only within this function.
    episodes = (
        select(EpisodeRow.id)
        .join(Item, Item.id == EpisodeRow.id)
        .where(EpisodeRow.job == job, EpisodeRow.ending == TAKEN_BACK, Item.state == ItemState.OWED)
    )
    names, query = _history(connection.dialect.name)
    connection.execute(insert(EndingHistory).from_select(names, query.where(EpisodeRow.id.in_(episodes))))
    for table in _KEPT:
        connection.execute(delete(table).where(table.episode.in_(episodes)))
    connection.execute(
        update(EpisodeRow)
        .where(EpisodeRow.id.in_(episodes))
        .values(ending="", answer=None, message="", level="", finished_at=None)
    )
    return count


def _history(dialect: str) -> tuple[list[str], Query]:
    """Return the columns of `ending_history`, and a query of the episodes' values for them."""
    before = select(func.count()).where(EndingHistory.episode == EpisodeRow.id).correlate(EpisodeRow).scalar_subquery()
    values: dict[str, Value] = {
        "episode": EpisodeRow.id,
        "number": before + 1,
        "scores": _as_json(dialect, ScoreRow),
        "verdicts": _as_json(dialect, VerdictRow),
        "replaced_at": now(),
        **{name: getattr(EpisodeRow, name) for name in ("ending", "message", "answer", "attempt", "finished_at")},
    }
    return list(values), select(*values.values())


def _as_json(dialect: str, table: type[ScoreRow] | type[VerdictRow]) -> ColumnElement[object]:
    """Return the SQL of an episode's rows of `table` as a JSON list of objects, or [] if there are none."""
    postgresql = dialect == "postgresql"
    pairs: list[ColumnElement[object]] = []
    for name in _KEPT[table]:
        column = getattr(table, name)
        if isinstance(column.type, Boolean) and not postgresql:  # in SQLite's JSON it would be a number
            column = func.json(case((column, "true"), else_="false"))
        pairs += [literal_column(f"'{name}'"), column]
    gather, make = (func.json_agg, func.json_build_object) if postgresql else (func.json_group_array, func.json_object)
    rows = select(gather(make(*pairs))).where(table.episode == EpisodeRow.id).correlate(EpisodeRow).scalar_subquery()
    return func.coalesce(rows, cast(literal_column("'[]'"), JSON)) if postgresql else rows
