"""Cohen's kappa and its interval beside those of statsmodels."""

from __future__ import annotations

import random

import numpy as np
import pytest

from lumos_queue.scoring.statistics import cohen_kappa, kappa_interval, wilson

LABELS = ("right", "wrong", "unsure")


@pytest.mark.parametrize("seed", range(30))
def test_the_interval_is_that_of_fleiss_cohen_and_everitt(seed):
    from statsmodels.stats.inter_rater import cohens_kappa

    chance = random.Random(seed)
    labels = LABELS[: chance.choice((2, 3))]
    first = [chance.choice(labels) for _ in range(chance.randint(20, 200))]
    pairs = [(one, one if chance.random() < 0.6 else chance.choice(labels)) for one in first]
    table = np.array([[pairs.count((one, other)) for other in labels] for one in labels])
    expected = cohens_kappa(table)
    assert cohen_kappa(pairs) == pytest.approx(expected.kappa)
    low, high = kappa_interval(pairs)
    assert low == pytest.approx(max(-1, expected.kappa_low))
    assert high == pytest.approx(min(1, expected.kappa_upp))


def test_it_is_not_defined_where_kappa_is_not():
    assert kappa_interval([]) is None
    assert kappa_interval([("right", "right")] * 5) is None


def test_few_items_on_which_all_agree_do_not_make_a_certain_kappa():
    """Half of them right and half wrong: chance agrees on half, so that kappa is 2 p - 1."""
    pairs = [("right", "right"), ("wrong", "wrong")] * 5
    assert kappa_interval(pairs) == (pytest.approx(2 * wilson(10, 10)[0] - 1), 1.0)
    assert kappa_interval(pairs * 100)[0] > 0.99


def test_it_stays_within_what_kappa_can_be():
    low, high = kappa_interval([("right", "wrong"), ("wrong", "right"), ("right", "right")])
    assert -1 <= low < high <= 1
