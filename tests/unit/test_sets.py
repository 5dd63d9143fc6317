"""Sample sets: drawn alike everywhere, and what they measured."""

from __future__ import annotations

import random

import pytest

from lumos_queue.errors import SpecError
from lumos_queue.records import Task
from lumos_queue.reports.sets import set_means
from lumos_queue.scoring.sample_sets import sample_sets
from lumos_queue.scoring.statistics import compute_weighted_interval, wilson

TASKS = [Task("hotpotqa", "", f"row {number}", f"Question {number}?", {"paragraphs": []}) for number in range(700)]


def members(tasks, number):
    return [task.row for task in tasks if number in task.inputs["sets"]]


def test_each_set_has_its_size_and_the_union_keeps_the_order_and_the_inputs():
    drawn = sample_sets(TASKS, 300, 3)
    for number in range(3):
        assert len(members(drawn, number)) == len(set(members(drawn, number))) == 300
    rows = [task.row for task in TASKS]
    assert [task.row for task in drawn] == [row for row in rows if row in {task.row for task in drawn}]
    assert all(task.inputs["sets"] == sorted(set(task.inputs["sets"])) != [] for task in drawn)
    assert all(task.inputs["paragraphs"] == [] for task in drawn)
    assert TASKS[0].inputs == {"paragraphs": []}  # the tasks that were given stay as they are


def test_a_set_is_the_same_whatever_the_order_of_the_file_and_the_number_of_sets():
    shuffled = random.Random(1).sample(TASKS, len(TASKS))
    drawn, again, one = sample_sets(TASKS, 50, 3), sample_sets(shuffled, 50, 3), sample_sets(TASKS, 50, 1)
    for number in range(3):
        assert set(members(drawn, number)) == set(members(again, number))
    assert members(drawn, 0) == members(one, 0)
    assert set(members(drawn, 0)) < set(members(sample_sets(TASKS, 300, 1), 0))


def test_the_draw_is_written_down():
    """Whoever draws with another version must get these rows, else published set numbers change their meaning."""
    assert members(sample_sets(TASKS[:30], 4, 3), 0) == ROWS_OF_SET_0
    assert members(sample_sets(TASKS[:30], 4, 3), 1) == ROWS_OF_SET_1


ROWS_OF_SET_0 = ["row 13", "row 14", "row 15", "row 24"]
ROWS_OF_SET_1 = ["row 0", "row 9", "row 19", "row 29"]


def test_sets_are_random_and_independent():
    drawn = sample_sets(TASKS, 350, 2)
    both = sum(task.inputs["sets"] == [0, 1] for task in drawn)
    assert 175 - 40 < both < 175 + 40  # half of a half; the standard deviation is 6.6
    first = sum(int(task.row.split()[1]) < 350 for task in drawn if 0 in task.inputs["sets"])
    assert 175 - 40 < first < 175 + 40


@pytest.mark.parametrize(
    ("size", "sets", "words"),
    [(701, 3, "sets of 701 rows: there are only 700"), (0, 3, "at least 1"), (5, 0, "at least 1")],
)
def test_what_cannot_be_drawn_is_said(size, sets, words):
    with pytest.raises(SpecError, match=words):
        sample_sets(TASKS, size, sets)


def test_set_means_by_hand():
    """Set 0: a, b = 1, 0; set 1: b, c = 0, 1. b is in both."""
    found = set_means([("a", [0], 1.0), ("b", [0, 1], 0.0), ("c", [1], 1.0)])
    assert found.means == (0.5, 0.5) and found.mean == 0.5 and found.spread == 0
    assert (found.mean, found.low, found.high) == compute_weighted_interval([("a", 1, 1), ("b", 0, 2), ("c", 1, 1)])
    found = set_means([("a", [0], 1.0), ("b", [1], 0.0), ("c", [2], 0.5)])
    assert found.means == (1.0, 0.0, 0.5) and found.mean == 0.5 and found.spread == pytest.approx(0.5)


def test_one_set_is_a_plain_sample():
    found = set_means([(place, [0], float(place < 30)) for place in range(100)])
    assert found.spread is None
    assert (found.mean, found.low, found.high) == pytest.approx((0.3, *wilson(30, 100)))


def test_sets_of_the_same_tasks_are_worth_one_set():
    same = set_means([(place, [0, 1, 2], float(place < 30)) for place in range(100)])
    assert (same.low, same.high) == pytest.approx(wilson(30, 100))
    assert same.means == pytest.approx((0.3, 0.3, 0.3)) and same.spread == pytest.approx(0)


def test_samples_of_a_task_count_in_each_of_its_sets():
    found = set_means([("a", [0, 1], 1.0), ("a", [0, 1], 0.0), ("b", [0], 1.0), ("b", [0], 1.0)])
    assert found.means == (0.75, 0.5)


def test_nothing_drawn_is_no_mean():
    with pytest.raises(ValueError, match="no task"):
        set_means([])


def test_a_set_may_be_of_one_task_or_of_all():
    assert len(sample_sets(TASKS[:5], 1, 1)) == 1
    assert [task.row for task in sample_sets(TASKS[:5], 5, 1)] == [task.row for task in TASKS[:5]]
