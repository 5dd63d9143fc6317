"""Flip rate and pass@k of jobs with several samples, by hand and by drawing."""

from __future__ import annotations

from itertools import combinations

import pytest

from db.queries.samples import SampleKind
from lumos_queue.records import Score
from lumos_queue.reports.json_values import as_json
from lumos_queue.reports.samples import budgets, measure_samples, pass_at
from lumos_queue.scoring.statistics import wilson


def kind(judged: int, right: int, tasks: int, graded: bool = False) -> SampleKind:
    return SampleKind(judged, right, right in (0, judged), graded, tasks)


@pytest.mark.parametrize("judged", range(1, 7))
def test_pass_at_k_is_the_share_of_draws_with_a_right_sample(judged):
    for right in range(judged + 1):
        for k in range(1, judged + 1):
            draws = list(combinations([True] * right + [False] * (judged - right), k))
            assert pass_at(k, judged, right) == pytest.approx(sum(map(any, draws)) / len(draws))


def test_pass_at_k_is_what_chen_et_al_compute():
    def estimator(n, c, k):  # the numerically stable form in their figure 3
        value = 1.0
        for number in range(n - c + 1, n + 1):
            value *= 1.0 - k / number
        return 1.0 if n - c < k else 1.0 - value

    for n, c, k in ((200, 3, 1), (200, 3, 100), (1_000, 1, 999), (10, 10, 10), (100, 0, 50)):
        assert pass_at(k, n, c) == pytest.approx(estimator(n, c, k))
    assert pass_at(100, 200, 3) != pytest.approx(1 - (1 - 3 / 200) ** 100, abs=0.01)  # the biased one


@pytest.mark.parametrize("bad", [(0, 4, 1), (5, 4, 1), (1, 4, 5), (1, 4, -1)])
def test_what_cannot_be_drawn_is_refused(bad):
    with pytest.raises(ValueError, match="cannot be drawn"):
        pass_at(*bad)


def test_budgets_are_powers_of_two_and_all_samples():
    assert [budgets(samples) for samples in (2, 3, 4, 5, 8)] == [
        [1, 2],
        [1, 2, 3],
        [1, 2, 4],
        [1, 2, 4, 5],
        [1, 2, 4, 8],
    ]


def test_ten_tasks_by_hand():
    # Four samples each: 3 tasks all right, 2 all wrong, 3 half right; of one task two are judged (one right), of one
    # task one sample is, and of one none.
    kinds = [kind(4, 4, 3), kind(4, 0, 2), kind(4, 2, 3), kind(2, 1, 1), kind(1, 1, 1)]
    found = as_json(measure_samples(kinds, "accuracy", 4, 44))
    assert (found["metric"], found["n"], found["tasks"]) == ("accuracy", 4, 11)
    low, high = wilson(4, 9)
    assert found["flips"] == {
        "rate": round(4 / 9, 6),
        "ci95": [round(low, 6), round(high, 6)],
        "flipped": 4,
        "of": 9,
        "too_few": 2,
    }
    one, two, four = found["pass_at"]
    assert (one["k"], one["value"], one["of"], one["too_few"]) == (1, pytest.approx((3 + 1.5 + 0.5 + 1) / 10), 10, 1)
    # Of two of four with two right: 1 - 1/6. Of both of two: 1.
    assert (two["k"], two["value"], two["of"]) == (2, pytest.approx((3 + 3 * 5 / 6 + 1) / 9, abs=1e-6), 9)
    assert (four["k"], four["value"], four["of"], four["too_few"]) == (4, pytest.approx(6 / 8), 8, 3)
    assert four["ci95"][0] < 6 / 8 < four["ci95"][1]


def test_tasks_judged_too_seldom_are_never_guessed():
    found = as_json(measure_samples([kind(1, 1, 5)], "accuracy", 4, 20))
    assert (found["flips"]["rate"], found["flips"]["of"], found["flips"]["too_few"]) == (None, 0, 5)
    assert [(one["k"], one["value"], one["of"]) for one in found["pass_at"]] == [
        (1, 1.0, 5),
        (2, None, 0),
        (4, None, 0),
    ]


def test_graded_scores_flip_and_have_no_pass_at_k():
    found = as_json(
        measure_samples([SampleKind(2, 0, False, True, 3), SampleKind(2, 2, True, True, 1)], "rouge_l", 2, 8)
    )
    assert found["flips"]["rate"] == 0.75 and "pass_at" not in found


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -0.1, 1.1])
def test_a_score_that_is_no_share_cannot_be_made(value):
    with pytest.raises(ValueError, match=r"'accuracy' gave .*not a number from 0 to 1"):
        Score("accuracy", value)
