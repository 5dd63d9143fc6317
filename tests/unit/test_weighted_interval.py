"""The interval of a mean of values that are weighted and not independent: against Wilson's, and against the truth."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lumos_queue.scoring.statistics import compute_weighted_interval, wilson

shares = st.integers(0, 64).map(lambda parts: parts / 64)  # so that 1 - share is exact
triples = st.lists(st.tuples(st.integers(0, 9), shares, st.floats(0.125, 8)), min_size=1, max_size=40)


@given(st.integers(1, 300), st.data())
def test_unclustered_zeros_and_ones_have_wilsons_interval(n, data):
    correct = data.draw(st.integers(0, n))
    values = [(place, float(place < correct), 1) for place in range(n)]
    assert compute_weighted_interval(values) == pytest.approx((correct / n, *wilson(correct, n)), abs=1e-9)


@given(triples)
def test_the_share_is_the_ratio_and_lies_within_its_interval(values):
    share, low, high = compute_weighted_interval(values)
    weights = sum(weight for _, _, weight in values)
    assert share == pytest.approx(sum(value * weight for _, value, weight in values) / weights)
    assert 0 <= low <= share <= high <= 1


@given(triples)
def test_it_is_symmetric_and_knows_no_unit_of_weight(values):
    share, low, high = compute_weighted_interval(values)
    mirrored = compute_weighted_interval([(cluster, 1 - value, weight) for cluster, value, weight in values])
    assert mirrored == pytest.approx((1 - share, 1 - high, 1 - low), abs=1e-6)
    heavier = compute_weighted_interval([(cluster, value, 3 * weight) for cluster, value, weight in values])
    assert heavier == pytest.approx((share, low, high), abs=1e-6)


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 4)), min_size=1, max_size=30))
def test_repeating_what_is_known_does_not_make_it_surer(values):
    """Samples of a task that all agree are worth one of them."""
    once = [(place, float(right), 1) for place, (right, _) in enumerate(values)]
    same = [(place, value, 4) for place, value, _ in once]
    repeated = [one for one in once for _ in range(4)]
    assert compute_weighted_interval(repeated) == pytest.approx(compute_weighted_interval(once), abs=1e-9)
    assert compute_weighted_interval(same) == pytest.approx(compute_weighted_interval(once), abs=1e-9)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_all_wrong_and_all_right_are_as_sure_as_there_are_tasks(value):
    clustered = [(place // 5, value, 1) for place in range(50)]
    assert compute_weighted_interval(clustered) == pytest.approx((value, *wilson(int(10 * value), 10)))
    uneven = [("a", value, 3), ("b", value, 1)]  # (3 + 1)² / (9 + 1) = 1.6 tasks in effect
    _, low, high = compute_weighted_interval(uneven)
    assert high - low == pytest.approx(3.841459 / (1.6 + 3.841459), abs=1e-6)


def test_a_weighted_case_by_hand():
    """Tasks of 3, 1, 2, 4 steps with 3, 0, 1, 2 right: share 0.6; deviations 1.2, -0.6, -0.2, -0.4, squares 2.0 of 100.
    K = 100/30 and 0.24/K = 0.072: the clusters vary as 0.277778; with 4 more, (4 * 0.277778 + 4) / 8 = 0.638889.
    So the size is 3.333333 / 0.638889 = 5.217391."""
    share, low, high = compute_weighted_interval([("a", 1, 3), ("b", 0, 1), ("c", 0.5, 2), ("d", 0.5, 4)])
    n, z = 5.217391, 1.959964
    half = z * (0.24 / n + z * z / (4 * n * n)) ** 0.5
    expected = [(0.6 + z * z / (2 * n) + sign * half) / (1 + z * z / n) for sign in (-1, 1)]
    assert (share, low, high) == pytest.approx((0.6, *expected), abs=1e-6)


def test_a_heavy_task_that_stands_apart_costs_more_than_its_weight():
    """5 of weight on one that is right, 15 of weight 1 that are wrong: share 0.25, variance (14.0625 + 0.9375) / 400,
    so the size is 0.1875 / 0.0375 = 5, though Kish's number of tasks is 400 / 40 = 10."""
    share, low, high = compute_weighted_interval([("heavy", 1.0, 5), *((place, 0.0, 1) for place in range(15))])
    n, z = 5, 1.959964
    half = z * (0.1875 / n + z * z / (4 * n * n)) ** 0.5
    expected = [(0.25 + z * z / (2 * n) + sign * half) / (1 + z * z / n) for sign in (-1, 1)]
    assert (share, low, high) == pytest.approx((0.25, *expected), abs=1e-6)


def test_few_clusters_that_agree_by_chance_are_not_believed():
    _, low, high = compute_weighted_interval([("a", 0.5, 1), ("b", 0.5, 1), ("c", 0.5, 1)])
    assert high - low > 0.6
    _, low, high = compute_weighted_interval([(place, 0.5, 1) for place in range(1000)])
    assert high - low < 0.01  # a thousand that agree are


def test_nothing_measured_is_none_and_what_is_no_share_is_refused():
    assert compute_weighted_interval([]) is None
    assert compute_weighted_interval([("a", 1.0, 0)]) is None
    for value, weight in [(1.5, 1), (-0.1, 1), (float("nan"), 1), (0.5, -1), (0.5, float("inf")), (0.5, float("nan"))]:
        with pytest.raises(ValueError, match="not a share"):
            compute_weighted_interval([("a", value, weight)])


def steps_of_tasks(rng: random.Random):
    """40 tasks of 2 to 14 steps; how easy a task is differs as Beta(0.6, 1.4)."""
    for task in range(40):
        easy, steps = rng.betavariate(0.6, 1.4), rng.randint(2, 14)
        yield task, sum(rng.random() < easy for _ in range(steps)) / steps, steps


def samples_of_tasks(rng: random.Random):
    for task in range(20):
        easy = rng.betavariate(0.7, 1.633333)
        yield from ((task, float(rng.random() < easy), 1) for _ in range(5))


def word_overlaps(rng: random.Random):
    """F1 of 20 answers: half of them share nothing."""
    return [(task, 0.0 if rng.random() < 0.5 else rng.betavariate(5, 2), 1) for task in range(20)]


def overlapping_sets(rng: random.Random):
    """Three sets of 100 from 200 tasks."""
    counts: dict[int, int] = {}
    for _ in range(3):
        for task in rng.sample(range(200), 100):
            counts[task] = counts.get(task, 0) + 1
    return [(task, float(rng.random() < 0.3), weight) for task, weight in counts.items()]


@pytest.mark.parametrize(
    ("draw", "truth"),
    [(steps_of_tasks, 0.3), (samples_of_tasks, 0.3), (word_overlaps, 0.5 * 5 / 7), (overlapping_sets, 0.3)],
)
def test_the_interval_holds_the_truth_as_often_as_it_says(draw, truth):
    rng = random.Random(7)
    held = 0
    for _ in range(2000):
        _, low, high = compute_weighted_interval(list(draw(rng)))
        held += low <= truth <= high
    assert 0.935 <= held / 2000 <= 0.99
