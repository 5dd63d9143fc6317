"""Read every item of a job for a judge, with its episode if there is one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import select

from db.engine.connection import Database
from db.engine.snapshot import reading
from db.models import Item, TaskRow
from db.queries.trajectories import StoredEpisode, load_episodes
from db.queue.stored_jobs import StoredJob
from lumos_queue.records import Task

CHUNK = 200  #: episodes that are read whole at once


@dataclass(frozen=True, slots=True)
class JudgedItem:
    """One item: a task and the number of the try, from 0. `episode` is None if the item has no finished episode."""

    name: str  #: of its episode
    task: Task
    sample: int
    episode: StoredEpisode | None


def items_of(database: Database, job: StoredJob) -> Iterator[JudgedItem]:
    """Yield every item of a job (its row) in order, each chunk in its own transaction. The job must not change."""
    query = (
        select(Item.id, Item.ordinal, Item.sample, TaskRow.dataset, TaskRow.row, TaskRow.question, TaskRow.inputs)
        .add_columns(TaskRow.gold)
        .join(TaskRow, TaskRow.id == Item.task)
        .where(Item.job == job.id)
        .order_by(Item.ordinal)
        .limit(CHUNK)
    )
    after = -1
    while True:
        with reading(database) as connection:
            rows = connection.execute(query.where(Item.ordinal > after)).all()
            episodes = {episode.id: episode for episode in load_episodes(connection, [row.id for row in rows])}
        for row in rows:
            task = Task(job.benchmark, row.dataset, row.row, row.question, row.inputs, row.gold)
            yield JudgedItem(f"{job.id}-{row.ordinal}", task, row.sample, episodes.get(row.id))
        if len(rows) < CHUNK:
            return
        after = rows[-1].ordinal
