"""Intervals against published values."""

from __future__ import annotations

import pytest

from lumos_queue.reports.statistics import wilson


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
    with pytest.raises(ValueError, match="no share"):
        wilson(correct, n)
