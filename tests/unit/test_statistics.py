"""Intervals against published values."""

from __future__ import annotations

import random

import pytest

from lumos_queue.scoring.statistics import Stratum, cohen_kappa, estimate_share, wilson


@pytest.mark.parametrize(
    ("correct", "n", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),  # R. G. Newcombe, Statistics in Medicine 17 (1998) 857-872, table I, method 3
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_gives_the_published_intervals(correct, n, low, high):
    assert wilson(correct, n) == pytest.approx((low, high), abs=5e-5)


def test_wilson_stays_within_0_and_1_and_contains_the_share():
    for n in (1, 2, 10, 1000):
        for correct in {0, 1, n // 2, n - 1, n}:
            low, high = wilson(correct, n)
            assert 0 <= low <= correct / n <= high <= 1


def test_wilson_is_symmetric():
    low, high = wilson(3, 11)
    assert wilson(8, 11) == pytest.approx((1 - high, 1 - low))


def test_nothing_measured_says_nothing():
    assert wilson(0, 0) == (0, 1)


@pytest.mark.parametrize(("correct", "n"), [(2, 1), (-1, 3), (0, -1)])
def test_what_is_no_share_is_refused(correct, n):
    with pytest.raises(ValueError, match="not a share"):
        wilson(correct, n)


def test_a_stratified_share_weighs_each_stratum_by_its_population():
    """By hand: W = 0.8 and 0.2, so p = 0.8 * 9/10 + 0.2 * 5/10 = 0.82. Kish: 1 / (0.64/10 + 0.04/10) = 14.70588;
    the design gives 0.82 * 0.18 / (0.64 * 0.09/10 + 0.04 * 0.25/10) = 21.834, which is more. Wilson at 14.70588."""
    found = estimate_share([Stratum(800, 10, 9), Stratum(200, 10, 5)])
    assert found == pytest.approx((0.82, 0.566739, 0.940707), abs=2e-6)


def test_a_large_stratum_that_varies_costs_more_than_its_weight():
    """By hand: W = 0.9 and 0.1, p = 0.55; Kish 12.329, the design 0.2475 / (0.81 * 0.25/10) = 12.2222."""
    n, z = 12.222222, 1.959964
    half = z * (0.55 * 0.45 / n + z * z / (4 * n * n)) ** 0.5
    low, high = ((0.55 + z * z / (2 * n) + sign * half) / (1 + z * z / n) for sign in (-1, 1))
    found = estimate_share([Stratum(900, 10, 5), Stratum(100, 90, 90)])
    assert found == pytest.approx((0.55, low, high), abs=1e-6)


@pytest.mark.parametrize("right", [(30, 15, 5), (30, 14, 5), (21, 15, 1), (0, 0, 0)])
def test_a_proportional_sample_has_the_plain_interval(right):
    strata = [Stratum(20 * n, n, x) for n, x in zip((30, 15, 5), right, strict=True)]
    assert estimate_share(strata) == pytest.approx((sum(right) / 50, *wilson(sum(right), 50)))


def test_a_stratum_that_nobody_judged_is_left_out_and_nothing_judged_is_none():
    assert estimate_share([Stratum(80, 10, 9), Stratum(20, 0, 0)]) == pytest.approx((0.9, *wilson(9, 10)))
    assert estimate_share([Stratum(80, 0, 0)]) is None
    assert estimate_share([]) is None
    with pytest.raises(ValueError, match="not a stratum"):
        estimate_share([Stratum(80, 1, 2)])


def test_the_stratified_interval_holds_the_truth_as_often_as_it_says():
    """4,000 samples in which small strata are drawn more often than their share, as `at least one each` does."""
    rng = random.Random(7)
    strata = ((6000, 40, 0.98), (3000, 30, 0.9), (900, 20, 0.6), (100, 10, 0.3))
    truth = sum(n * p for n, _, p in strata) / 10_000
    held = 0
    for _ in range(4000):
        drawn = [Stratum(n, k, sum(rng.random() < p for _ in range(k))) for n, k, p in strata]
        _, low, high = estimate_share(drawn) or (0, 0, 0)
        held += low <= truth <= high
    assert held / 4000 >= 0.94


def test_kappa_gives_the_published_value():
    """J. L. Fleiss, B. Levin and M. C. Paik, Statistical Methods for Rates and Proportions, 3rd ed. 2003, table 18.1:
    89 of 100 agree, 66 by chance (80 * 80 + 10 * 5 + 10 * 15 of 10,000), so kappa is 23/34 = 0.68."""
    table = {"pp": 75, "pn": 1, "po": 4, "np": 5, "nn": 4, "no": 1, "oo": 10}
    pairs = [(pair[0], pair[1]) for pair, count in table.items() for _ in range(count)]
    assert cohen_kappa(pairs) == pytest.approx(23 / 34)


def test_kappa_is_1_in_agreement_0_by_chance_negative_below_and_undefined_without_variety():
    assert cohen_kappa([("right", "right"), ("wrong", "wrong")]) == 1
    assert cohen_kappa([("right", "right"), ("right", "wrong"), ("wrong", "right"), ("wrong", "wrong")]) == 0
    assert cohen_kappa([("right", "wrong"), ("wrong", "right")]) == -1
    assert cohen_kappa([("right", "right"), ("right", "wrong")]) == 0
    assert cohen_kappa([("right", "right")] * 9) is None
    assert cohen_kappa([]) is None
