"""Read stored jobs, their tasks and messages, and the steps of one episode."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, select

from db.journal.step_records import RecordedStep, load_steps
from db.models import (
    EndingHistory,
    EpisodeRow,
    Item,
    JobEndpoint,
    JobRow,
    ScoreRow,
    TaskRow,
    VerdictRow,
)
from db.models.job_kinds import JobKind
from db.models.states import HIDDEN, ItemState, JobState
from db.queries.damage import sound_jobs
from db.queries.labels import labels_of
from db.queue.current_scores import is_replaced
from lumos_queue.errors import SpecError
from lumos_queue.records import Ending, Task


def values_by_metric(connection: Connection, job: str) -> dict[str, list[tuple[int, float, int]]]:
    """Return (task, value, trials) of each scored episode, by metric. The newest version of a metric's scorer counts.

    An `infra_error` has no score.
    """
    rows = connection.execute(
        select(ScoreRow.metric, EpisodeRow.task, ScoreRow.value, ScoreRow.trials)
        .join(EpisodeRow, EpisodeRow.id == ScoreRow.episode)
        .where(EpisodeRow.job == job, EpisodeRow.ending != Ending.INFRA_ERROR, ~is_replaced(connection.dialect.name))
        .order_by(ScoreRow.episode)
    )
    scores: dict[str, list[tuple[int, float, int]]] = {}
    for metric, task, value, trials in rows:
        scores.setdefault(metric, []).append((task, value, trials))
    return scores


def messages(connection: Connection, job: str, limit: int = 10) -> list[tuple[str, str, int]]:
    """Count the episodes that did not end by an answer: (ending, message, episodes), the most frequent first."""
    count = func.count().label("episodes")
    rows = connection.execute(
        select(EpisodeRow.ending, EpisodeRow.message, count)
        .where(EpisodeRow.job == job, EpisodeRow.ending.not_in(("", Ending.ANSWERED)))
        .group_by(EpisodeRow.ending, EpisodeRow.message)
        .order_by(count.desc(), EpisodeRow.message)
        .limit(limit)
    )
    return [(ending, message, episodes) for ending, message, episodes in rows]


def load_keyed_tasks(connection: Connection, job: str) -> dict[int, Task]:
    """Return the tasks of a job by key, in order, each once."""
    rows = connection.execute(
        select(TaskRow.__table__, JobRow.benchmark)
        .join(Item, Item.task == TaskRow.id)
        .join(JobRow, JobRow.id == Item.job)
        .where(Item.job == job, Item.sample == 0)
        .order_by(Item.ordinal)
    )
    return {row.id: Task(row.benchmark, row.dataset, row.row, row.question, row.inputs, row.gold) for row in rows}


def load_task_rows(connection: Connection, job: str) -> list[str]:
    """Return the rows' own ids of a job's tasks, in order, each once."""
    query = select(TaskRow.row).join(Item, Item.task == TaskRow.id).where(Item.job == job, Item.sample == 0)
    return list(connection.execute(query.order_by(Item.ordinal)).scalars())


def first_task(connection: Connection, job: str) -> Task | None:
    """Return the task of a job's first item; None when the job's items have no tasks."""
    rows = connection.execute(
        select(TaskRow.__table__, JobRow.benchmark)
        .join(Item, Item.task == TaskRow.id)
        .join(JobRow, JobRow.id == Item.job)
        .where(Item.job == job, Item.ordinal == 0)
    )
    return next((Task(row.benchmark, row.dataset, row.row, row.question, row.inputs, row.gold) for row in rows), None)


def jobs_of_kind(connection: Connection, kind: str) -> list[Any]:
    """Return the jobs of a kind that are neither cancelled nor damaged, newest first."""
    query = select(JobRow.__table__).where(
        JobRow.kind == kind, JobRow.state.not_in((JobState.CANCELLING, JobState.CANCELLED, *HIDDEN))
    )
    return sound_jobs(connection.execute(query.order_by(JobRow.created_at.desc(), JobRow.id)))


def endpoints_of_kind(connection: Connection, kind: str) -> list[Any]:
    """Return the identities that endpoints of all jobs of a kind reported, oldest first. Damaged rows are left out."""
    query = select(JobEndpoint.__table__).join(JobRow, JobRow.id == JobEndpoint.job).where(JobRow.kind == kind)
    return _readable(connection.execute(query.order_by(JobEndpoint.id)))


def endpoints_of(connection: Connection, job: str) -> list[Any]:
    """Return the identities that the job's endpoints reported, oldest first. Damaged rows are left out."""
    query = select(JobEndpoint.__table__).where(JobEndpoint.job == job).order_by(JobEndpoint.id)
    return _readable(connection.execute(query))


def _readable(endpoints: Iterable[Any]) -> list[Any]:
    return [row for row in endpoints if isinstance(row.identity, dict)]


def outputs(connection: Connection, job: str) -> list[tuple[int, Any]]:
    """Return (ordinal, output) of the finished items of a job whose items are not episodes."""
    rows = connection.execute(
        select(Item.ordinal, Item.output).where(Item.job == job, Item.state == ItemState.DONE).order_by(Item.ordinal)
    )
    return [(ordinal, output) for ordinal, output in rows]


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One episode with all of its stored rows."""

    job: Any
    item: Any
    episode: Any
    task: Task
    steps: list[RecordedStep]
    scores: list[Any]
    verdicts: list[Any]
    labels: list[Any]  #: the newest of each person, of the episode and of its steps
    parent: str | None  #: the name of the episode that it corrects; '' if that was removed
    earlier: list[Any]  #: endings that were taken back, the oldest first (rows of `ending_history`)


def get_trajectory(connection: Connection, job: Any, ordinal: int) -> Trajectory:
    """Return the job's episode with that ordinal. Raises SpecError when it does not exist or has not begun."""
    item = connection.execute(select(Item.__table__).where(Item.job == job.id, Item.ordinal == ordinal)).first()
    if job.kind == JobKind.TRAIN:
        raise SpecError(f"Job {job.id} trains a model: it has no episodes. See: lumos report {job.id}")
    if item is None or item.task is None:
        raise SpecError(f"Job {job.id} has no episode {ordinal}: its episodes are 0 to {job.items - 1}.")
    episode = connection.execute(select(EpisodeRow.__table__).where(EpisodeRow.id == item.id)).first()
    if episode is None:
        raise SpecError(f"Episode {job.id}-{ordinal} has not begun: its item is {item.state}. See: lumos job {job.id}")
    row = connection.execute(select(TaskRow.__table__).where(TaskRow.id == item.task)).one()
    task = Task(job.benchmark, row.dataset, row.row, row.question, row.inputs, row.gold)
    steps = load_steps(connection, {item.id: episode.attempt})[item.id]
    of_score = select(ScoreRow.__table__).where(ScoreRow.episode == item.id)
    scores = list(connection.execute(of_score.order_by(ScoreRow.metric, ScoreRow.version)))
    of_verdict = select(VerdictRow.__table__).where(VerdictRow.episode == item.id)
    verdicts = list(connection.execute(of_verdict.order_by(VerdictRow.module, VerdictRow.name)))
    labels, parent = labels_of(connection, item.id), _name_of(connection, episode.parent)
    history = select(EndingHistory.__table__).where(EndingHistory.episode == item.id).order_by(EndingHistory.number)
    earlier = list(connection.execute(history))
    return Trajectory(job, item, episode, task, steps, scores, verdicts, labels, parent, earlier)


def _name_of(connection: Connection, episode: int | None) -> str | None:
    """Return the name JOB-NUMBER of the episode with this key; '' if it was removed. For None, return None."""
    if episode is None:
        return None
    row = connection.execute(select(Item.job, Item.ordinal).where(Item.id == episode)).first()
    return f"{row.job}-{row.ordinal}" if row else ""
