"""Finished episodes by columns, for tables of other programs: a few statements for tens of thousands of episodes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from sqlalchemy import Connection, bindparam, column, select, table

from db.connection import Database, numbers
from db.filter_sql import conditions
from db.filters import Filter
from db.trajectories import IDS_AT_ONCE, reading, select_ids

TEXTS = (
    "episode", "job", "benchmark", "split", "formulation", "origin", "level", "licence", "task_row", "question", "gold",
    "answer", "ending", "message",
)  # fmt: skip
WHOLE = ("episode_id", "sample", "subgoals", "calls", "prompt_tokens", "completion_tokens")
NUMBERS = ("score", "seconds", "finished_at")
#: In their order: of the view v_episodes (docs/queries.md). A column `metric:NAME` follows for each metric.
COLUMNS = (
    "episode_id", "episode", "job", "benchmark", "split", "task_row", "question", "gold", "sample", "formulation",
    "origin", "level", "licence", "ending", "answer", "message", "score", "subgoals", "calls", "prompt_tokens",
    "completion_tokens", "seconds", "finished_at",
)  # fmt: skip
METRIC = "metric:"
Columns = dict[str, list]

_IDS = numbers(bindparam("ids"))
_VIEW = table("v_episodes", *(column(name) for name in COLUMNS))
_EPISODES = select(*_VIEW.c).where(_VIEW.c.episode_id.op("IN")(_IDS)).order_by(_VIEW.c.episode_id)
_SCORED = table("v_scores", column("episode_id"), column("metric"), column("value"))
_SCORES = select(*_SCORED.c).where(_SCORED.c.episode_id.op("IN")(_IDS))


def read_columns(database: Database, wanted: Filter) -> Columns:
    """Every finished episode that meets the filter, by id: name of a column to its values, None where there is none."""
    found: Columns = {name: [] for name in COLUMNS}
    metrics: dict[str, dict[int, float]] = {}
    for ids in _pages(database, wanted):
        with reading(database) as connection:
            _add_page(connection, ids, found, metrics)
    keys = found["episode_id"]
    for metric in sorted(metrics):
        values = metrics[metric]
        found[METRIC + metric] = [values.get(key) for key in keys]
    return found


def count_episodes(database: Database, wanted: Filter) -> int:
    """How many finished episodes meet the filter."""
    return sum(map(len, _pages(database, wanted)))


def _pages(database: Database, wanted: Filter) -> Iterator[Sequence[int]]:
    """The ids, IDS_AT_ONCE at a time."""
    with reading(database) as connection:
        met = conditions(connection, wanted)
    after = 0
    while True:
        with reading(database) as connection:
            ids = list(connection.execute(select_ids(met, after, IDS_AT_ONCE)).scalars())
        if ids:
            yield ids
        if len(ids) < IDS_AT_ONCE:
            return
        after = ids[-1]


def _add_page(
    connection: Connection, ids: Sequence[int], found: Columns, metrics: dict[str, dict[int, float]]
) -> None:  # fmt: skip
    sent = {"ids": json.dumps(list(ids))}
    rows = connection.execute(_EPISODES, sent).all()
    for name, values in zip(COLUMNS, zip(*rows, strict=True), strict=True) if rows else ():
        # SQLite gives the number where a gold answer is one, PostgreSQL its text.
        found[name].extend(map(_as_text, values) if name == "gold" else values)
    for row in connection.execute(_SCORES, sent):
        metrics.setdefault(row.metric, {})[row.episode_id] = row.value


def _as_text(value: object) -> str | None:
    return value if value is None or isinstance(value, str) else str(value)
