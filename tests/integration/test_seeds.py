"""The score of several seeds: a mean over all items, whose interval is that of the mean over tasks."""

from __future__ import annotations

import pytest

from db.queries.jobs import get_job
from lumos_queue.reports.seeds import combine_jobs
from lumos_queue.scoring.statistics import compute_weighted_interval, wilson
from tests.scored_jobs import create_scored_job


def combine(database, *values: tuple[int, list, int]):
    """The score of jobs from (seed, scores of each task's samples, items that stay pending)."""
    jobs = [
        (seed, create_scored_job(database, scores, digest=f"{number:064x}", seed=seed, pending=pending))
        for number, (seed, scores, pending) in enumerate(values)
    ]
    with database.engine.connect() as connection:
        return combine_jobs(connection, [(seed, get_job(connection, job)) for seed, job in jobs])


def test_equal_seeds_have_the_interval_of_one_and_not_of_twice_the_tasks(database):
    scores = [[1], [1], [1], [0]]
    combined = combine(database, (0, scores, 0), (1, scores, 0))
    assert (combined.value, combined.by_seed, combined.of, combined.complete) == (0.75, {0: 0.75, 1: 0.75}, 8, True)
    assert combined.ci95 == pytest.approx(wilson(3, 4), abs=1e-6)


def test_jobs_of_one_seed_are_one_mean_and_larger_jobs_count_more(database):
    combined = combine(database, (0, [[1, 1], [1, 0]], 0), (0, [[0], [0]], 0), (7, [[1], [0]], 0))
    assert combined.by_seed == {0: 0.5, 7: 0.5} and combined.value == 0.5 and combined.of == 8
    tasks = [(0, 1.0), (0, 1.0), (1, 1.0), (1, 0.0), (0, 0.0), (1, 0.0), (0, 1.0), (1, 0.0)]
    interval = compute_weighted_interval([(task, value, 1.0) for task, value in tasks])
    assert interval is not None and combined.ci95 == pytest.approx(interval[1:], abs=1e-6)


def test_an_item_without_judgement_counts_as_wrong_and_makes_the_score_incomplete(database):
    combined = combine(database, (0, [[1], [1]], 1), (1, [[1], [None]], 0))
    assert (combined.value, combined.judged, combined.of, combined.complete) == (0.5, 2, 4, False)
    assert combined.by_seed == {0: 0.5, 1: 0.5}


def test_no_jobs_have_no_score(database):
    assert combine(database) is None
