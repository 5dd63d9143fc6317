"""Pair the scores of two jobs on the same tasks by task and sample. The database counts the pairs.

Both episodes of a pair have a score by the metric. Episodes that ended with infra_error, or have not ended, are in no
pair.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, FromClause, and_, func, select
from sqlalchemy.orm import aliased

from db.engine.conditions import Query, Value
from db.models import EpisodeRow, Item, ScoreRow, TaskRow
from db.queue.current_scores import is_replaced
from db.queue.equal_tasks import match_tasks
from db.queue.figures import count_endings, score_versions
from db.queue.stored_jobs import StoredJob
from lumos_queue.records import Ending


@dataclass(frozen=True, slots=True)
class Kind:
    """The number of tasks whose pairs have these sums of weights and scores. With one sample, a task has one pair."""

    weight_a: float  #: Σ trials
    sum_a: float  #: Σ trials × value
    weight_b: float
    sum_b: float
    pairs: int  #: of each task
    tasks: int


@dataclass(frozen=True, slots=True)
class Pair:
    """Two episodes on the same task, each by its key and its number in its job."""

    episode_a: int
    episode_b: int
    number_a: int
    number_b: int
    task: int
    sample: int
    value_a: float
    value_b: float
    question: str  #: its beginning


class Pairs:
    """The pairs of two jobs (their rows), A and B, by one metric. `by_content`: equal tasks of two datasets match."""

    def __init__(
        self, connection: Connection, job_a: StoredJob, job_b: StoredJob, metric: str, by_content: bool = False
    ):
        self._connection = connection
        self._jobs, self._by_content = (job_a, job_b), by_content
        self._a = newest_scores(connection, job_a.id, metric, "scores_a")
        self._b = newest_scores(connection, job_b.id, metric, "scores_b")
        self._few = [newest_scores(connection, job.id, metric, whole=False) for job in self._jobs]

    def kinds(self) -> list[Kind]:
        """Count the pairs by their scores, in a fixed order."""
        columns = (self._a.c.trials, self._a.c.value, self._b.c.trials, self._b.c.value)
        rows = self._connection.execute(self._join(*columns, func.count()).group_by(*columns).order_by(*columns))
        return [Kind(row[0], row[0] * row[1], row[2], row[2] * row[3], 1, row[4]) for row in rows]

    def task_kinds(self) -> list[Kind]:
        """Count the tasks by the sums over their pairs, in a fixed order."""
        a, b = self._a.c, self._b.c
        sums = (a.trials, a.trials * a.value, b.trials, b.trials * b.value)
        columns = [func.sum(column).label(f"sum_{index}") for index, column in enumerate(sums)]
        task_columns = self._join(*columns, func.count().label("pairs")).group_by(a.task).subquery().c
        query: Query = select(*task_columns, func.count())
        rows = self._connection.execute(query.group_by(*task_columns).order_by(*task_columns))
        return [
            Kind(float(row[0]), float(row[1]), float(row[2]), float(row[3]), int(row[4]), int(row[5])) for row in rows
        ]

    def each(self) -> list[tuple[int, float, int, float, int]]:
        """Return (task of A, value of A, trials of A, value of B, trials of B) of every pair."""
        a, b = self._a.c, self._b.c
        rows = self._connection.execute(self._join(a.task, a.value, a.trials, b.value, b.trials).order_by(a.id))
        return [tuple(row) for row in rows]

    def list_changed(self, better: bool, limit: int, max_characters: int = 200, after: int = 0) -> list[Pair]:
        """Return the first `limit` pairs in which the score of B is higher than that of A; lower, if not `better`.

        `max_characters`: of the question that are read. `after`: the key of an episode of A; only pairs of later
        episodes are returned.
        """
        a, b = (scores.c for scores in self._few)
        item_a, item_b = aliased(Item), aliased(Item)
        differs = b.value > a.value if better else b.value < a.value
        query = (
            self._join(
                a.id,
                b.id,
                item_a.ordinal,
                item_b.ordinal,
                a.task,
                a.sample,
                a.value,
                b.value,
                func.substr(TaskRow.question, 1, max_characters),
                few=True,
            )
            .join(item_a, item_a.id == a.id)
            .join(item_b, item_b.id == b.id)
            .join(TaskRow, TaskRow.id == a.task)
            .where(differs, a.id > after)
            .order_by(a.id)
            .limit(limit)
        )
        return [Pair(*row) for row in self._connection.execute(query)]

    def _join(self, *columns: Value, few: bool = False) -> Query:
        scores_a, scores_b = self._few if few else (self._a, self._b)
        a, b = scores_a.c, scores_b.c
        if not self._by_content:
            return select(*columns).select_from(scores_a.join(scores_b, and_(b.task == a.task, b.sample == a.sample)))
        task_a, task_b = aliased(TaskRow), aliased(TaskRow)
        same = and_(task_b.dataset == self._jobs[1].dataset, match_tasks(self._connection, task_a, task_b))
        source = scores_a.join(task_a, task_a.id == a.task).join(task_b, same)
        return select(*columns).select_from(source.join(scores_b, and_(b.task == task_b.id, b.sample == a.sample)))


def newest_scores(
    connection: Connection, job: str, metric: str, name: str = "scores", whole: bool = True
) -> FromClause:
    """Return the subquery (id, task, sample, value, trials) of the job's episodes that have a score by the metric.

    The newest version of the scorer counts. `whole`: whether the caller reads all rows, and not only the first few.
    """
    versions = list(score_versions(connection, job).get(metric, {}))
    postgresql = connection.dialect.name == "postgresql"
    query = (
        select(EpisodeRow.id, EpisodeRow.task, EpisodeRow.sample, ScoreRow.value, ScoreRow.trials)
        .join(ScoreRow, ScoreRow.episode == EpisodeRow.id)
        .where(EpisodeRow.job == job, ScoreRow.metric == metric, ScoreRow.trials > 0)
    )
    if postgresql and whole:
        query = query.where(_in_range(connection, job))
    if count_endings(connection, job).get(Ending.INFRA_ERROR.value):  # without such endings an index suffices
        query = query.where(EpisodeRow.ending != Ending.INFRA_ERROR.value)
    if len(versions) == 1:
        query = query.where(ScoreRow.version == versions[0])
    else:
        query = query.where(~is_replaced(connection.dialect.name))
    return query.cte(name).prefix_with("MATERIALIZED", dialect="postgresql") if whole else query.subquery()


def _in_range(connection: Connection, job: str) -> ColumnElement[bool]:
    """Return the condition that an episode's id is between the job's first and last id.

    Without it, PostgreSQL would read the scores of all jobs for a join. The items of a job are stored together, so that
    this range has few items of other jobs.
    """
    ends = select(
        func.min(EpisodeRow.id), func.max(EpisodeRow.id), func.count()
    )  # the count makes PostgreSQL use the job's index
    first, last, _ = connection.execute(ends.where(EpisodeRow.job == job)).one()
    return ScoreRow.episode.between(first or 0, last or 0)


def count_common(connection: Connection, job_a: StoredJob, job_b: StoredJob) -> int:
    """Count the items (task and sample) that both jobs (their rows) have. Tasks of two datasets match if equal."""
    a, b = aliased(Item), aliased(Item)
    query: Query = select(func.count()).select_from(a)
    if job_a.dataset == job_b.dataset:
        query = query.join(b, and_(b.task == a.task, b.sample == a.sample))
    else:
        task_a, task_b = aliased(TaskRow), aliased(TaskRow)
        same = and_(task_b.dataset == job_b.dataset, match_tasks(connection, task_a, task_b))
        query = query.join(task_a, task_a.id == a.task).join(task_b, same)
        query = query.join(b, and_(b.task == task_b.id, b.sample == a.sample))
    return connection.execute(query.where(a.job == job_a.id, b.job == job_b.id)).scalar_one()
