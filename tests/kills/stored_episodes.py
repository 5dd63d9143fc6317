"""Load the stored episodes of tool agents: their trees and their tool calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from sqlalchemy import select

from db.engine.connection import Database
from db.models import CompletionRow, EpisodeRow, ExecutionRow, SubgoalRow, TaskRow, ToolCallRow
from tests.stored_rows import read_stored_rows

_PLACE = ("attempt", "position", "branch", "command")
_EDGES = {
    SubgoalRow: _PLACE,
    CompletionRow: (*_PLACE, "parent", "base"),
    ExecutionRow: (*_PLACE, "parent"),
    ToolCallRow: (*_PLACE, "tool", "arguments", "status", "result", "outputs", "message", "provenance"),
}
StepCounts = dict[
    str, Counter[tuple[int, int, int]]
]  #: by row of the task: stored steps by (attempt, position, branch)


def load_episodes(database: Database, job: str) -> dict[str, Any]:
    """Return the stored rows of finished episodes by row of the task, without times and surrogate keys."""
    episodes = {row: {"rows": values} for (row, _), values in read_stored_rows(database, job).items()}
    with database.engine.connect() as connection:
        for table, names in _EDGES.items():
            columns = [getattr(table, name) for name in names]
            query = (
                select(TaskRow.row, *columns)
                .join(EpisodeRow, EpisodeRow.id == table.episode)
                .join(TaskRow, TaskRow.id == EpisodeRow.task)
                .where(EpisodeRow.job == job)
                .order_by(TaskRow.row, table.attempt, table.position, table.branch)
            )
            for row, *values in connection.execute(query):
                episodes[row].setdefault(table.__tablename__, []).append(tuple(values))
    return episodes


def count_stored_steps(database: Database, job: str) -> StepCounts:
    """Count the stored steps, those of unfinished episodes included."""
    counts: StepCounts = {}
    with database.engine.connect() as connection:
        for table in _EDGES:
            query = (
                select(TaskRow.row, table.attempt, table.position, table.branch)
                .join(EpisodeRow, EpisodeRow.id == table.episode)
                .join(TaskRow, TaskRow.id == EpisodeRow.task)
                .where(EpisodeRow.job == job)
            )
            for row, *step_key in connection.execute(query):
                counts.setdefault(row, Counter())[tuple(step_key)] += 1
    return counts


def count_prompts(database: Database, jobs: Sequence[str]) -> Counter[str]:
    """Count the stored replies of each prompt. A prompt is the first half of its sha256."""
    query = select(CompletionRow.prompt_digest).join(EpisodeRow, EpisodeRow.id == CompletionRow.episode)
    with database.engine.connect() as connection:
        return Counter(digest.hex() for digest in connection.execute(query.where(EpisodeRow.job.in_(jobs))).scalars())
