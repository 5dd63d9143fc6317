"""Report people's feedback on a job's episodes: approved and refused plans, and ratings."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from statistics import fmean

from db.engine.connection import Connection
from db.journal.step_records import NO, YES
from db.queries.labels import RATINGS, newest_ratings
from db.queue.stored_jobs import StoredJob
from db.review.approvals import count_answers
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.reports.score_values import Range
from lumos_queue.scoring.statistics import compute_weighted_interval

_LEAST, _MOST = int(RATINGS[0]), int(RATINGS[-1])


@dataclass(frozen=True, slots=True)
class PlanAnswers:
    """The plans that people were shown, by their answers."""

    approved: int
    refused: int
    unanswered: int


@dataclass(frozen=True, slots=True)
class Ratings:
    """The mean rating by people over the rated episodes, on the scale of ratings."""

    mean: float
    ci95: Range
    rated: int  #: episodes
    of: int  #: items of the job
    people: int


def count_plan_answers(connection: Connection, job: StoredJob) -> PlanAnswers | None:
    """Return people's answers on the job's plans; None if no person approves its plans."""
    formulation = FORMULATIONS.find(job.formulation)
    if formulation is None or not formulation.approved:
        return None
    counts = count_answers(connection, job.id)
    return PlanAnswers(counts.get(YES, 0), counts.get(NO, 0), counts.get("", 0))


def measure_ratings(connection: Connection, job: StoredJob) -> Ratings | None:
    """Return the mean rating of a job; None without ratings.

    An episode's rating is the mean over people. The interval is for means between the lowest and the highest rating
    (compute_weighted_interval), with the samples of a task as a cluster.
    """
    by_episode: dict[int, list[int]] = defaultdict(list)
    tasks: dict[int, int | None] = {}
    people = set()
    for rating in newest_ratings(connection, job.id):
        by_episode[rating.episode].append(rating.value)
        tasks[rating.episode] = rating.task
        people.add(rating.labeller)
    if not by_episode:
        return None
    means = {episode: fmean(values) for episode, values in by_episode.items()}
    shares = [(tasks[episode], (mean - _LEAST) / (_MOST - _LEAST), 1.0) for episode, mean in means.items()]
    share, low, high = compute_weighted_interval(shares) or (0.0, 0.0, 1.0)
    return Ratings(_rating(share), (_rating(low), _rating(high)), len(means), job.items, len(people))


def _rating(share: float) -> float:
    return round(_LEAST + share * (_MOST - _LEAST), 4)
