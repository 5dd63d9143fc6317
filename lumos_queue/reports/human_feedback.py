"""Report people's feedback on a job's episodes: approved and refused plans, and ratings."""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean
from typing import Any

from db.engine.connection import Connection
from db.journal.step_records import NO, YES
from db.queries.labels import RATINGS, newest_ratings
from db.queue.stored_jobs import StoredJob
from db.review.approvals import count_answers
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.scoring.statistics import compute_weighted_interval

_LEAST, _MOST = int(RATINGS[0]), int(RATINGS[-1])


def people_figures(connection: Connection, job: StoredJob) -> dict[str, Any]:
    """Return the counts of `plans`, if people approve the job's plans, and `ratings`, if there are any.

    An episode's rating is the mean over people, and `mean` is the mean over rated episodes; `of` is the number of all
    items. The interval is for means between the lowest and the highest rating (compute_weighted_interval), with the
    samples of a task as a cluster.
    """
    figures: dict[str, Any] = {}
    formulation = FORMULATIONS.find(job.formulation)
    if formulation is not None and formulation.approved:
        counts = count_answers(connection, job.id)
        figures["plans"] = {
            "approved": counts.get(YES, 0),
            "refused": counts.get(NO, 0),
            "unanswered": counts.get("", 0),
        }
    if ratings := _ratings(connection, job):
        figures["ratings"] = ratings
    return figures


def _ratings(connection: Connection, job: StoredJob) -> dict[str, Any]:
    by_episode: dict[int, list[int]] = defaultdict(list)
    tasks: dict[int, int | None] = {}
    people = set()
    for rating in newest_ratings(connection, job.id):
        by_episode[rating.episode].append(rating.value)
        tasks[rating.episode] = rating.task
        people.add(rating.labeller)
    if not by_episode:
        return {}
    means = {episode: fmean(values) for episode, values in by_episode.items()}
    shares = [(tasks[episode], (mean - _LEAST) / (_MOST - _LEAST), 1.0) for episode, mean in means.items()]
    share, low, high = compute_weighted_interval(shares) or (0.0, 0.0, 1.0)
    return {
        "mean": _rating(share),
        "ci95": [_rating(low), _rating(high)],
        "rated": len(means),
        "of": job.items,
        "people": len(people),
    }


def _rating(share: float) -> float:
    return round(_LEAST + share * (_MOST - _LEAST), 4)
