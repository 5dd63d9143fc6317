"""Paired statistics where a task has several samples or a score between 0 and 1: by hand, and against each other."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lumos_queue.scoring.clusters import Clusters, bootstrap_interval, sign_flip_p, tasks_needed
from lumos_queue.scoring.paired_tests import mcnemar_p, tango_interval

#: Four tasks with two samples each. A has 2 0 1 1 right ones, B has 2 2 1 2.
SAMPLES = Clusters([[2, 2, 2, 2], [2, 0, 2, 2], [2, 1, 2, 1], [2, 1, 2, 2]], [1, 1, 1, 1])  # type: ignore[arg-type]


def binary(both: int, fixed: int, broken: int, neither: int) -> Clusters:
    sums = [[1, 1, 1, 1], [1, 0, 1, 1], [1, 1, 1, 0], [1, 0, 1, 0]]
    return Clusters(sums, [both, fixed, broken, neither])  # type: ignore[arg-type]


def test_samples_by_hand():
    # Means by task: A 1 0 1/2 1/2, B 1 1 1/2 1; differences 0 1 0 1/2, mean 3/8.
    assert SAMPLES.means == (0.5, 0.875)
    assert SAMPLES.difference == 0.375
    # Their variance: (9/64 + 25/64 + 9/64 + 1/64) / 3 = 44/192, over four tasks: sqrt(44/768).
    assert SAMPLES.standard_error == pytest.approx(math.sqrt(44 / 768))
    # Signs of 2 and 1 right answers more: of the four sums 3 1 -1 -3 two are as far from 0 as 3.
    assert sign_flip_p(SAMPLES) == (0.5, "exact")
    # (1.96 + 0.8416)^2 times the variance 44/192 over (3/8)^2: 7.849 * 0.22917 / 0.140625 = 12.79
    assert tasks_needed(SAMPLES) == 13


def test_samples_as_if_independent_would_be_too_sure():
    # 100 tasks whose four samples all agree are 100 observations, not 400.
    agree = Clusters([[4, 4, 4, 0], [4, 0, 4, 4], [4, 4, 4, 4]], [10, 20, 70])  # type: ignore[arg-type]
    assert agree.standard_error == pytest.approx(binary(70, 20, 10, 0).standard_error)
    assert bootstrap_interval(agree)[:2] == pytest.approx(bootstrap_interval(binary(70, 20, 10, 0))[:2], abs=0.01)
    assert sign_flip_p(agree)[0] == pytest.approx(mcnemar_p(20, 10))


def test_one_sample_is_mcnemars_test():
    for fixed, broken in ((73, 39), (66, 59), (3, 0), (0, 1), (500, 400)):
        p, how = sign_flip_p(binary(50, fixed, broken, 50))
        assert (p, how) == (pytest.approx(mcnemar_p(fixed, broken), rel=1e-9), "exact")
    assert sign_flip_p(binary(5, 0, 0, 5)) == (1.0, "exact")


def test_one_sample_has_nearly_tangos_interval():
    for fixed, broken, n in ((73, 39, 300), (3, 1, 40), (0, 0, 60), (0, 6, 100)):
        found = bootstrap_interval(binary(n - fixed - broken, fixed, broken, 0))
        assert found[2] == "bootstrap"
        assert found[:2] == pytest.approx(tango_interval(fixed, broken, n), abs=0.04)


def test_the_ways_to_a_p_value_agree():
    draw = np.random.default_rng(3)
    mine, theirs = draw.binomial(3, 0.5, 400), draw.binomial(3, 0.55, 400)
    whole = Clusters(np.stack([np.full(400, 3), mine, np.full(400, 3), theirs], 1), np.ones(400))
    part = Clusters(whole.sums / 10, whole.counts)  # weights of 0.3: no whole numbers, the same question
    exact, drawn = sign_flip_p(whole), sign_flip_p(part)
    assert (exact[1], drawn[1]) == ("exact", "random")
    assert drawn[0] == pytest.approx(exact[0], abs=0.02)
    many = 4_000
    a = draw.random(many)
    b = np.clip(a + draw.normal(0.002, 0.1, many), 0, 1)
    graded = Clusters(np.stack([np.ones(many), a, np.ones(many), b], 1), np.ones(many))
    p, how = sign_flip_p(graded)
    assert how == "normal"
    flips = draw.choice((-1.0, 1.0), (4_000, many)) @ (b - a)
    assert p == pytest.approx(np.mean(np.abs(flips) >= abs((b - a).sum())), abs=0.03)
    low, high, method = bootstrap_interval(graded)
    assert method == "standard error"
    drawn_means = (b - a)[draw.integers(0, many, (1_000, many))].mean(1)
    assert (low, high) == pytest.approx(tuple(np.quantile(drawn_means, [0.025, 0.975])), abs=0.0005)


def test_equal_tasks_may_be_counted_or_listed():
    listed = Clusters(np.repeat(SAMPLES.sums, 5, axis=0), np.ones(20))
    counted = Clusters(SAMPLES.sums, np.full(4, 5))
    assert listed.standard_error == pytest.approx(counted.standard_error)
    assert sign_flip_p(listed) == sign_flip_p(counted)
    assert bootstrap_interval(listed)[:2] == pytest.approx(bootstrap_interval(counted)[:2], abs=0.025)


def test_the_same_pairs_give_the_same_figures_and_turned_ones_the_negative():
    many = Clusters(SAMPLES.sums, np.full(4, 50))
    turned = Clusters(many.sums[:, [2, 3, 0, 1]], many.counts)
    assert bootstrap_interval(many) == bootstrap_interval(many)
    low, high, _ = bootstrap_interval(many)
    assert bootstrap_interval(turned)[:2] == pytest.approx((-high, -low), abs=0.01)
    assert turned.difference == -many.difference


def test_trials_weigh_as_in_reports():
    # A task of three steps and one of one: A has 2/3 and 0, B 1 and 0. Over four steps 2/4 and 3/4.
    steps = Clusters([[3, 2, 3, 3], [1, 0, 1, 0]], [1, 1])  # type: ignore[arg-type]
    assert steps.means == (0.5, 0.75)


def test_tasks_that_all_agree_leave_doubt():
    low, high, _ = bootstrap_interval(binary(30, 0, 0, 0))
    assert low < 0 < high
    assert tasks_needed(binary(30, 0, 0, 0)) is None
    one = Clusters([[4, 1, 4, 3]], [1])  # type: ignore[arg-type]
    assert one.standard_error == 0
    assert bootstrap_interval(one)[1] - bootstrap_interval(one)[0] > 0.5


@pytest.mark.parametrize(
    "sums", [[[1, 2, 1, 0]], [[1, -1, 1, 0]], [[0, 0, 1, 0]], [[1, math.nan, 1, 0]], [[1, 0, math.inf, 0]], []]
)
def test_what_is_no_score_is_refused(sums):
    with pytest.raises(ValueError, match="not from 0 to 1"):
        Clusters(sums, [1] * len(sums))  # type: ignore[arg-type]
