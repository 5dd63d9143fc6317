"""The two rewards of InterCode-SQL, and Kendall's tau of strings against the definition."""

from __future__ import annotations

import math
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lumos_queue.benchmarks.base import EpisodeResult
from lumos_queue.benchmarks.intercode_sql.benchmark import submissions
from lumos_queue.benchmarks.intercode_sql.reward import (
    iou_reward,
    kendall_tau,
    order_aware_reward,
    original_reward,
)
from lumos_queue.records import Action, Execution

A, B, C, D = ["a", 1], ["b", 2], ["c", 3], ["d", 4]


@pytest.mark.parametrize(
    ("rows", "gold", "reward"),
    [
        ([], [], 1.0),
        ([A], [], 0.0),
        ([], [A], 0.0),
        ([A], [A], 1.0),
        ([A, B, C], [A, B, C], 1.0),
        ([C, B, A], [A, B, C], -1.0),
        ([A, B], [A, B, C], 0.67),
        ([A], [A, B, C], 1 / 3),  # tau of one pair is not defined: nothing is rounded
        ([A] * 7, [A] * 8, 0.875),  # nor where all rows are equal; the one recorded reward between 0 and 1
        ([A, A], [A], 0.5),
        ([[1]], [[1.0]], 0.0),  # compared as strings
        ([B, A], [A, B], -1.0),
    ],
)
def test_the_original_reward(rows, gold, reward):
    assert original_reward(rows, gold) == pytest.approx(reward)


@pytest.mark.parametrize(
    ("rows", "gold", "reward"),
    [
        ([], [], 1.0),
        ([A], [], 0.0),
        ([C, B, A], [A, B, C], 1.0),  # the order is nothing to it
        ([A, B], [A, B, C], 2 / 3),  # and nothing is rounded
        ([A, A], [A, B, B], 1 / 4),
        ([[1]], [[1.0]], 0.0),
    ],
)
def test_the_reward_without_tau_is_intersection_over_union(rows, gold, reward):
    assert iou_reward(rows, gold) == pytest.approx(reward)


def test_rounding_forgives_large_results_what_the_order_aware_reward_does_not():
    gold = [[f"{number:03}"] for number in range(201)]
    few = gold[:29]
    swapped = [few[1], few[0], *few[2:]]
    assert original_reward(swapped, few) == 1
    assert original_reward(swapped[:28], few[:28]) < 1
    assert original_reward(gold[:-1], gold) == 1
    assert original_reward(gold[:-2], gold[:-1]) < 1
    assert order_aware_reward(swapped, few, True) == order_aware_reward(gold[:-1], gold, False) == 0


@pytest.mark.parametrize(
    ("rows", "gold", "ordered", "reward"),
    [
        ([C, B, A], [A, B, C], False, 1),
        ([C, B, A], [A, B, C], True, 0),
        ([A, B, C], [A, B, C], True, 1),
        ([A, A], [A], False, 0),
        ([], [], True, 1),
        ([A, B], [A, B, C], False, 0),
    ],
)
def test_the_order_counts_only_where_gold_sets_one(rows, gold, ordered, reward):
    assert order_aware_reward(rows, gold, ordered) == reward


strings = st.lists(st.tuples(st.sampled_from("abcXé"), st.sampled_from("abcXé")), max_size=12)


@given(strings)
def test_tau_is_what_its_definition_says(pairs):
    first, second = [one for one, _ in pairs], [other for _, other in pairs]
    concordant = discordant = only_first = only_second = 0
    for (a, b), (c, d) in combinations(pairs, 2):
        if a == c or b == d:
            only_first += a == c and b != d
            only_second += a != c and b == d
        elif (a < c) == (b < d):
            concordant += 1
        else:
            discordant += 1
    under = (concordant + discordant + only_first) * (concordant + discordant + only_second)
    expected = (concordant - discordant) / math.sqrt(under) if under else None
    assert kendall_tau(first, second) == (pytest.approx(expected) if expected is not None else None)


@settings(deadline=None)  # the first call imports it
@given(strings)
def test_tau_is_scipys(pairs):
    scipy = pytest.importorskip(
        "scipy.stats", reason="scipy is not installed: tau is compared with its definition only"
    )
    first, second = [one for one, _ in pairs], [other for _, other in pairs]
    expected = float(scipy.kendalltau(first, second).statistic) if pairs else math.nan
    found = kendall_tau(first, second)
    assert (found is None) == math.isnan(expected)
    assert found is None or found == pytest.approx(expected)


def test_tau_of_many_rows_takes_no_square_of_time():
    rows = [f"{number:05}" for number in range(30_000)]
    assert kendall_tau(rows, rows) == 1
    assert kendall_tau(rows, rows[::-1]) == -1


def test_only_submitted_queries_are_judged():
    values = [
        {"kind": "tables", "text": "", "rows": [["hat"]]},
        {"kind": "fragment", "text": "name FROM hat"},
        {"kind": "rows", "text": "", "rows": [[1]], "submission": 1},
    ]
    seen = [(Action(("R1",), "", ""), Execution("ok", "", (value,))) for value in values]
    seen.append((Action(("R4",), "", "SELECT x"), Execution("sql_error", message="no such column: x")))
    assert submissions(EpisodeResult(seen=seen)) == [[[1]]]
