"""The intervals of comparisons hold the truth as often as they say, in a few of the cases of the simulation."""

from __future__ import annotations

import pytest

from performance.interval_coverage import CASES, measure


@pytest.mark.parametrize(
    ("case", "tasks"),
    [("0/1, one sample", 100), ("0/1, 4 samples", 30), ("graded, narrow", 30), ("graded, most are the same", 100)],
)
def test_ninety_five_of_a_hundred_intervals_hold_the_truth(case, tasks):
    share, width = measure(CASES[case], tasks, 200)
    assert 0.92 <= share <= 0.99
    assert width < 0.5


def test_few_tasks_that_hardly_differ_leave_doubt_rather_than_false_certainty():
    share, _ = measure(CASES["0/1, 4 samples, few differ"], 10, 200)
    assert share >= 0.95
