"""Paired statistics of right and wrong: against statsmodels, SciPy, published examples and sums by hand."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lumos_queue.scoring.paired_tests import PairedCounts, holm, mcnemar_p, tango_interval, tasks_for_power

counts = st.integers(min_value=0, max_value=400)


def test_mcnemar_is_that_of_statsmodels_on_a_thousand_tables():
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    draw = random.Random(18)
    for _ in range(1_000):
        most = draw.choice((3, 20, 300, 20_000))
        both, fixed, broken, neither = (draw.randint(0, most) for _ in range(4))
        expected = tables.mcnemar([[both, broken], [fixed, neither]], exact=True).pvalue
        assert mcnemar_p(fixed, broken) == pytest.approx(expected, rel=1e-9, abs=1e-300)


@given(counts, counts)
def test_mcnemar_is_scipys_binomial_test(fixed, broken):
    from scipy.stats import binomtest

    expected = binomtest(fixed, fixed + broken).pvalue if fixed + broken else 1.0
    assert mcnemar_p(fixed, broken) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("fixed", "broken", "points", "p"), [(73, 39, "+11.3", "0.0017"), (66, 59, "+2.3", "0.59")])
def test_what_three_hundred_tasks_say(fixed, broken, points, p):
    found = PairedCounts(both=100, fixed=fixed, broken=broken, neither=200 - fixed - broken)
    assert found.n == 300
    assert f"{100 * found.difference:+.1f}" == points
    assert f"{mcnemar_p(fixed, broken):.2g}" == p
    low, high = tango_interval(fixed, broken, 300)
    assert (low > 0) == (p == "0.0017")
    assert low < found.difference < high


def test_tango_is_as_published():
    # Airway responsiveness of 21 children before and after, one improved and seven worsened: M. W. Fagerland,
    # S. Lydersen, P. Laake, Recommended tests and confidence intervals for paired binomial proportions, Stat. Med. 33
    # (2014) 2850-2875, table IX: Tango's interval is (-0.517, -0.026).
    assert tango_interval(1, 7, 21) == pytest.approx((-0.517, -0.026), abs=5e-4)


def test_tango_holds_the_differences_that_its_test_does_not_reject():
    z = 1.959963984540054
    for fixed, broken, n in ((73, 39, 300), (1, 7, 21), (0, 3, 9), (40, 20, 160)):
        low, high = tango_interval(fixed, broken, n)
        for delta, side in ((low, 1), (high, -1)):
            # The share that only A gets right, at which the likelihood is largest if the difference is delta.
            shares = [place / 200_000 for place in range(1, 200_000) if 2 * place / 200_000 + delta <= 1]
            shares = [share for share in shares if share + delta > 0]
            share = max(shares, key=lambda share: _log_likelihood(fixed, broken, n, share, delta))
            statistic = (fixed - broken - n * delta) / (n * (2 * share + delta - delta * delta)) ** 0.5
            assert statistic == pytest.approx(side * z, abs=0.01)


def _log_likelihood(fixed, broken, n, share, delta):
    from math import log

    rest = 1 - 2 * share - delta
    parts = ((fixed, share + delta), (broken, share), (n - fixed - broken, rest))
    return sum(count * log(chance) if chance > 0 else -1e300 for count, chance in parts if count)


@given(counts, counts, counts)
def test_tango_turns_with_its_agents_and_contains_what_was_seen(fixed, broken, same):
    n = fixed + broken + same
    low, high = tango_interval(fixed, broken, n)
    assert tango_interval(broken, fixed, n) == pytest.approx((-high, -low), abs=1e-9)
    assert -1 <= low <= high <= 1
    if n:
        assert low <= (fixed - broken) / n <= high
        assert high - low > 0.5 / n  # never of no width, also where no pair differs


def test_tango_of_pairs_that_all_agree_is_that_of_no_event():
    z2 = 1.959963984540054**2
    assert tango_interval(0, 0, 50) == pytest.approx((-z2 / (50 + z2), z2 / (50 + z2)))
    assert tango_interval(0, 0, 0) == (-1, 1)


@pytest.mark.parametrize("bad", [(-1, 0, 5), (0, -1, 5), (3, 3, 5)])
def test_counts_that_are_none_are_refused(bad):
    with pytest.raises(ValueError, match="not counts"):
        tango_interval(*bad)
    if min(bad) < 0:
        with pytest.raises(ValueError, match="not counts"):
            mcnemar_p(*bad[:2])
        with pytest.raises(ValueError, match="negative"):
            PairedCounts(0, *bad[:2], 0)


def test_holm_by_hand():
    # Sorted 0.01 0.02 0.04 0.5: times 4, 3, 2, 1 is 0.04 0.06 0.08 0.5, none below the one before it.
    assert holm([0.04, 0.01, 0.5, 0.02]) == pytest.approx([0.08, 0.04, 0.5, 0.06])
    assert holm([0.02, 0.02]) == pytest.approx([0.04, 0.04])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


@pytest.mark.long
def test_holm_is_that_of_statsmodels():
    multiple = pytest.importorskip("statsmodels.stats.multitest")
    draw = random.Random(7)
    for _ in range(25):
        values = [draw.random() ** 3 for _ in range(draw.randint(1, 9))]
        assert holm(values) == pytest.approx(list(multiple.multipletests(values, method="holm")[1]))


def test_tasks_for_power_by_hand_and_by_simulation():
    # psi 0.3, delta 0.1: (1.96 sqrt(0.3) + 0.8416 sqrt(0.29))^2 / 0.01 = (1.07351 + 0.45323)^2 / 0.01 = 233.1
    assert tasks_for_power(0.2, 0.1) == 234
    assert tasks_for_power(0.1, 0.2) == 234
    assert tasks_for_power(0.1, 0.1) is None
    draw, found = random.Random(1), 0
    for _ in range(2_000):
        kinds = draw.choices(("fixed", "broken", ""), (0.2, 0.1, 0.7), k=234)
        found += mcnemar_p(kinds.count("fixed"), kinds.count("broken")) < 0.05
    assert 0.74 < found / 2_000 < 0.83  # the exact test is a little weaker than the one the formula is of
