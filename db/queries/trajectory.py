"""Read one episode with its steps, scores and labels."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, select

from db.engine.whole_rows import read_row, read_rows
from db.journal.step_records import RecordedStep, load_steps
from db.kinds.job_kinds import JobKind
from db.models import (
    Attempt,
    EndingHistory,
    EpisodeRow,
    Item,
    Label,
    ScoreRow,
    TaskRow,
    VerdictRow,
)
from db.queries.labels import labels_of
from db.queue.stored_jobs import StoredJob
from lumos_queue.errors import SpecError
from lumos_queue.records import Task


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One episode with all of its stored rows."""

    job: StoredJob
    item: Item
    episode: EpisodeRow
    task: Task
    steps: list[RecordedStep]
    scores: list[ScoreRow]
    verdicts: list[VerdictRow]
    labels: list[Label]  #: the newest of each person, of the episode and of its steps
    parent: str | None  #: the name of the episode that it corrects; '' if that was removed
    earlier: list[EndingHistory]  #: endings that were taken back, the oldest first


def get_trajectory(connection: Connection, job: StoredJob, ordinal: int) -> Trajectory:
    """Return the job's episode with that ordinal. Raises SpecError when it does not exist or has not begun."""
    item = read_row(connection, Item, select(Item.__table__).where(Item.job == job.id, Item.ordinal == ordinal))
    if job.kind == JobKind.TRAIN:
        raise SpecError(f"Job {job.id} trains a model: it has no episodes. See: lumos report {job.id}")
    if item is None or item.task is None:
        raise SpecError(f"Job {job.id} has no episode {ordinal}: its episodes are 0 to {job.items - 1}.")
    episode = read_row(connection, EpisodeRow, select(EpisodeRow.__table__).where(EpisodeRow.id == item.id))
    if episode is None:
        raise SpecError(f"Episode {job.id}-{ordinal} has not begun: its item is {item.state}. See: lumos job {job.id}")
    row = connection.execute(select(TaskRow.__table__).where(TaskRow.id == item.task)).one()
    task = Task(job.benchmark, row.dataset, row.row, row.question, row.inputs, row.gold)
    steps = load_steps(connection, {item.id: episode.attempt})[item.id]
    of_score = select(ScoreRow.__table__).where(ScoreRow.episode == item.id)
    scores = read_rows(connection, ScoreRow, of_score.order_by(ScoreRow.metric, ScoreRow.version))
    of_verdict = select(VerdictRow.__table__).where(VerdictRow.episode == item.id)
    verdicts = read_rows(connection, VerdictRow, of_verdict.order_by(VerdictRow.module, VerdictRow.name))
    labels, parent = labels_of(connection, item.id), _name_of(connection, episode.parent)
    history = select(EndingHistory.__table__).where(EndingHistory.episode == item.id).order_by(EndingHistory.number)
    earlier = read_rows(connection, EndingHistory, history)
    return Trajectory(job, item, episode, task, steps, scores, verdicts, labels, parent, earlier)


def list_other_attempts(connection: Connection, trajectory: Trajectory) -> list[int]:
    """Return the numbers of the episode's attempts other than the accepted attempt, in order."""
    episode = trajectory.episode
    query = select(Attempt.number).where(Attempt.episode == episode.id, Attempt.number != episode.attempt)
    return list(connection.execute(query.order_by(Attempt.number)).scalars())


def _name_of(connection: Connection, episode: int | None) -> str | None:
    """Return the name JOB-NUMBER of the episode with this key; '' if it was removed. For None, return None."""
    if episode is None:
        return None
    row = connection.execute(select(Item.job, Item.ordinal).where(Item.id == episode)).first()
    return f"{row.job}-{row.ordinal}" if row else ""
