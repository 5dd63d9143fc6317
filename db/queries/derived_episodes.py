"""Read the episodes of derived tasks and their source episodes (lumos_queue/rollouts/derivation.py)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, literal, select

from db.engine.connection import Database, numbers
from db.engine.snapshot import reading
from db.models import EpisodeRow, Item, TaskRow
from db.queries.trajectories import StoredEpisode, load_episodes
from db.queue.stored_jobs import StoredJob
from lumos_queue.errors import SpecError
from lumos_queue.records import Ending, Task
from lumos_queue.scoring.limit import at_limit_of

CHUNK = 200  #: episodes that are read whole at once
NAMES_AT_ONCE = 1000  #: names of episodes that are read at once


@dataclass(frozen=True, slots=True)
class DerivedTry:
    """One try at a derived task. `episode` is the key of its episode; `ending` is empty until the episode has ended."""

    task: Task
    sample: int
    episode: int
    ending: str
    answer: str | None
    at_limit: str  #: how its answer counts if it ended as `limit` (lumos_queue/scoring/limit.py)

    @property
    def origin(self) -> dict[str, Any]:
        """What the task was derived from: `episode` (the name of the source episode), `row`, `subgoals`, …"""
        return self.task.inputs["from"]

    @property
    def ended(self) -> bool:
        """Whether the try can be judged: it has ended, and not by an infrastructure failure or a cancellation."""
        return self.ending not in ("", Ending.INFRA_ERROR, Ending.CANCELLED)


def tries_of(connection: Connection, job: StoredJob) -> list[DerivedTry]:
    """Return the items of a job (its row) on derived tasks in order, including items that have not begun.

    Raises SpecError when the job's tasks are not derived from episodes.
    """
    at_limit = at_limit_of(job.spec)
    rows = connection.execute(
        select(TaskRow.dataset, TaskRow.row, TaskRow.question, TaskRow.inputs, TaskRow.gold)
        .add_columns(Item.id, Item.sample, EpisodeRow.ending, EpisodeRow.answer)
        .select_from(Item)
        .join(TaskRow, TaskRow.id == Item.task)
        .join(EpisodeRow, EpisodeRow.id == Item.id, isouter=True)
        .where(Item.job == job.id)
        .order_by(Item.ordinal)
    )
    tries: list[DerivedTry] = []
    for row in rows:
        task = Task(job.benchmark, row.dataset, row.row, row.question, row.inputs, row.gold)
        tries.append(DerivedTry(task, row.sample, row.id, row.ending or "", row.answer, at_limit))
    if not tries or not all(map(_continues_episode, tries)):
        raise SpecError(
            f"The tasks of job {job.id} are not derived from episodes: name a job that this command has submitted."
        )
    return tries


def _continues_episode(derived_try: DerivedTry) -> bool:
    """Return whether the task continues an episode. A judge's task names its episode, but has no subgoals of it."""
    origin = derived_try.task.inputs.get("from")
    return isinstance(origin, dict) and {"episode", "subgoals"} <= origin.keys()


def load_named_episodes(database: Database, names: Iterable[str]) -> Iterator[StoredEpisode]:
    """Yield the episodes with these names (`JOB-ORDINAL`) and their steps, job by job. Removed episodes are skipped."""
    ordinals: dict[str, list[int]] = {}
    for name in dict.fromkeys(names):
        job, _, ordinal = name.rpartition("-")
        ordinals.setdefault(job, []).append(int(ordinal))
    for job, job_ordinals in ordinals.items():
        for start in range(0, len(job_ordinals), CHUNK):
            parameter = literal(json.dumps(job_ordinals[start : start + CHUNK]))
            with reading(database) as connection:
                keys = select(Item.id).where(Item.job == job, Item.ordinal.op("IN")(numbers(parameter)))
                episodes = load_episodes(connection, list(connection.execute(keys).scalars()))
            yield from episodes


def find_source_jobs(connection: Connection, dataset: str) -> set[str]:
    """Return the ids of the jobs whose episodes became the tasks of this dataset."""
    inputs = TaskRow.inputs
    query = select(inputs["from"]["episode"].as_string()).where(TaskRow.dataset == dataset).distinct()
    names = connection.execute(query.execution_options(yield_per=NAMES_AT_ONCE)).scalars()
    return {name.rpartition("-")[0] for name in names if name}
