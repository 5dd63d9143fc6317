"""Read the figures of a job's progress. The cost of reading does not grow with the size of the job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from db.engine.connection import Connection
from db.kinds.job_kinds import JobKind
from db.kinds.states import OPEN, ItemState
from db.queries.training_progress import StoredProgress, read_progress
from db.queue.figures import Totals, count_endings, progress, seconds_by_phase, sum_running_scores, totals
from db.queue.schedule import find_awaited
from db.queue.stored_jobs import AwaitedJob, StoredJob
from db.queue.training_steps import list_feedback
from lumos_queue.reports.retry_reasons import RetryReason, read_retry_reason
from lumos_queue.reports.scores import samples_of
from lumos_queue.scoring.statistics import wilson


@dataclass(frozen=True, slots=True)
class JobFigures:
    """The state of a job at the moment of a read of the database."""

    row: StoredJob
    items: Mapping[str, int]  #: by state
    sums: Totals
    endings: Mapping[str, int]
    score: tuple[float, int]  #: sum of values, scored episodes
    phases: Mapping[str, float]  #: seconds
    awaited: AwaitedJob | None = None  #: the open job that it waits for
    awaited_endings: Mapping[str, int] | None = None
    feedback: Mapping[str, Any] | None = None  #: the latest optimizer step of a training that learns from rewards
    failing: RetryReason | None = None  #: items of the `holder`, if it is open, that failed and are retried
    fits: Sequence[StoredProgress] = ()  #: what training processes have reported last, by fit

    @property
    def done(self) -> int:
        return self.items.get(ItemState.DONE, 0)

    @property
    def tokens(self) -> int:
        return self.sums.totals.tokens

    @property
    def holder(self) -> StoredJob:
        """The job that limits the progress: the job that this job waits for, or else this job."""
        return self.awaited or self.row


def read_figures(connection: Connection, row: StoredJob) -> JobFigures:
    """Read the figures of a job."""
    awaited_job, train = find_awaited(connection, row), row.kind == JobKind.TRAIN
    holder = awaited_job or row
    learnt = list_feedback(connection, row.id) if train else []
    return JobFigures(
        row,
        progress(connection, row.id),
        totals(connection, row.id),
        count_endings(connection, row.id),
        sum_running_scores(connection, row.id),
        seconds_by_phase(connection, row.id),
        awaited_job,
        count_endings(connection, awaited_job.id) if awaited_job and train else None,
        learnt[-1] if learnt else None,
        read_retry_reason(connection, [holder.id]).get(holder.id) if holder.state in OPEN else None,
        read_progress(connection, row.id) if train else (),
    )


def measure_score(figures: JobFigures) -> dict[str, Any] | None:
    """Return the score so far, or None without scored episodes: `value`, the number `scored`, `ci95` and `bounds`.

    `bounds` are the scores over all items if those without a score count as wrong, or as right. The interval `ci95`
    counts several samples of a task once, because these may all agree. It is Wilson's, which is wide for graded scores.
    """
    total, scored_episodes = figures.score
    if not scored_episodes:
        return None
    independent = ceil(scored_episodes / samples_of(figures.row))
    low, high = wilson(min(max(round(total / scored_episodes * independent), 0), independent), independent)
    items = max(figures.row.items, scored_episodes)
    return {
        "value": total / scored_episodes,
        "scored": scored_episodes,
        "ci95": [low, high],
        "bounds": [total / items, (total + items - scored_episodes) / items],
    }
