"""Read finished episodes as columns, for tables of other programs, with few statements for very many episodes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from sqlalchemy import ColumnClause, Connection, bindparam, column, select, table

from db.engine.conditions import Query
from db.engine.connection import Database, numbers
from db.engine.snapshot import reading
from db.models import EpisodeRow, TaskRow
from db.queries.filter_sql import conditions
from db.queries.filters import Filter
from db.queries.task_fields import format_value, is_plain, read_fields
from db.queries.trajectories import IDS_AT_ONCE, select_ids

TEXTS = (
    "episode",
    "job",
    "benchmark",
    "split",
    "formulation",
    "origin",
    "level",
    "licence",
    "task_row",
    "question",
    "gold",
    "answer",
    "ending",
    "message",
)
WHOLE = ("episode_id", "sample", "subgoals", "calls", "prompt_tokens", "completion_tokens")
NUMBERS = ("score", "seconds", "finished_at")
#: The columns of the view v_episodes (docs/queries.md), in its order. A column `metric:NAME` follows for each metric,
#: and a column `meta.NAME` for each field of the tasks.
COLUMNS = (
    "episode_id",
    "episode",
    "job",
    "benchmark",
    "split",
    "task_row",
    "question",
    "gold",
    "sample",
    "formulation",
    "origin",
    "level",
    "licence",
    "ending",
    "answer",
    "message",
    "score",
    "subgoals",
    "calls",
    "prompt_tokens",
    "completion_tokens",
    "seconds",
    "finished_at",
)
METRIC, FIELD = "metric:", "meta."
Columns: TypeAlias = dict[str, list[Any]]
MOST = 10**300  #: a column with a larger number is a column of texts, because the number may be no float

_IDS = numbers(bindparam("ids"))
_VIEW_COLUMNS: list[ColumnClause[Any]] = [column(name) for name in COLUMNS]
_VIEW = table("v_episodes", *_VIEW_COLUMNS)
_EPISODES: Query = select(_VIEW).where(_VIEW.c.episode_id.op("IN")(_IDS)).order_by(_VIEW.c.episode_id)
_GOLDS = (
    select(EpisodeRow.id, TaskRow.gold).join(TaskRow, TaskRow.id == EpisodeRow.task).where(EpisodeRow.id.op("IN")(_IDS))
)
_SCORED = table("v_scores", column("episode_id"), column("metric"), column("value"))
_SCORES: Query = select(_SCORED).where(_SCORED.c.episode_id.op("IN")(_IDS))


def read_columns(database: Database, query: Filter) -> Columns:
    """Return the columns of the finished episodes that meet the filter, in the order of ids. None: a missing value."""
    columns: Columns = {name: [] for name in COLUMNS}
    metrics: dict[str, dict[int, float]] = {}
    fields: dict[str, dict[int, Any]] = {}
    for ids in _pages(database, query):
        with reading(database) as connection:
            _add_page(connection, ids, columns, metrics, fields)
    keys = columns["episode_id"]
    for metric in sorted(metrics):
        values = metrics[metric]
        columns[METRIC + metric] = [values.get(key) for key in keys]
    for name in sorted(fields):
        values = fields.pop(name)
        columns[FIELD + name] = make_column([values.get(key) for key in keys])
    return columns


def count_episodes(database: Database, query: Filter) -> int:
    """Count the finished episodes that meet the filter."""
    return sum(map(len, _pages(database, query)))


def _pages(database: Database, query: Filter) -> Iterator[Sequence[int]]:
    """Yield the ids of the finished episodes that meet the filter, IDS_AT_ONCE at a time."""
    with reading(database) as connection:
        filter_conditions = conditions(connection, query)
    after = 0
    while True:
        with reading(database) as connection:
            ids = list(connection.execute(select_ids(filter_conditions, after, IDS_AT_ONCE)).scalars())
        if ids:
            yield ids
        if len(ids) < IDS_AT_ONCE:
            return
        after = ids[-1]


def _add_page(
    connection: Connection,
    ids: Sequence[int],
    columns: Columns,
    metrics: dict[str, dict[int, float]],
    fields: dict[str, dict[int, Any]],
) -> None:
    parameters = {"ids": json.dumps(list(ids))}
    rows = connection.execute(_EPISODES, parameters).all()
    for name, values in zip(COLUMNS, zip(*rows, strict=True), strict=True) if rows else ():
        # A gold answer that is a number is a number from SQLite, and a text from PostgreSQL.
        columns[name].extend(map(_as_text, values) if name == "gold" else values)
    for row in connection.execute(_SCORES, parameters):
        metrics.setdefault(row.metric, {})[row.episode_id] = row.value
    for key, gold in connection.execute(_GOLDS, parameters):
        for name, value in read_fields(gold).items():
            fields.setdefault(name, {})[key] = value


def make_column(values: list[Any]) -> list[Any]:
    """Return the values unchanged if all are truth values or all are numbers, otherwise as texts. None stays None.

    `format_value` converts plain values to text; lists and mappings become JSON.
    """
    if kind_of(values) is not str:
        return values
    return [
        None if value is None else format_value(value) if is_plain(value) else json.dumps(value, ensure_ascii=False)
        for value in values
    ]


def kind_of(values: list[Any]) -> type:
    """Return the type of a column with these values: bool, int of 64 bits, float, or else str. None is ignored."""
    kinds: set[type] = set(map(type, values)) - {type(None)}
    if kinds == {bool}:
        return bool
    if kinds == {int} and all(value is None or -(2**63) <= value < 2**63 for value in values):
        return int
    return float if kinds and kinds <= {int, float} and all(map(_is_float, values)) else str


def _is_float(value: float | None) -> bool:
    return value is None or abs(value) < MOST


def _as_text(value: object) -> str | None:
    return value if value is None or isinstance(value, str) else str(value)
