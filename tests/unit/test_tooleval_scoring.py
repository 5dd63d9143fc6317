"""ToolEval's rates: every cell of the table, every majority, every round; properties of them all."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lumos_queue.benchmarks.base import EpisodeResult
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.records import Task
from lumos_queue.scoring.tool_verdicts import MISSING, OURS, Round, RunVerdict, Similarity, ToolVerdict
from lumos_queue.scoring.tool_votes import (
    TABLE,
    AnswerLabel,
    Preference,
    TaskLabel,
    Vote,
    majority,
    solvable_pass,
    strict_pass,
)
from lumos_queue.scoring.tooleval import OUR_RULE

BENCHMARK = open_benchmark("tooleval")
RUNS = ", ".join(f'"{name}": {{"ended": "", "votes": [{{"answer": "solved"}}]}}' for name in ("run", "against"))
SOLVED, UNSURE, UNSOLVED = Vote(AnswerLabel.SOLVED), Vote(AnswerLabel.UNSURE), Vote(AnswerLabel.UNSOLVED)
ANSWERS, TASKS = st.sampled_from(AnswerLabel), st.sampled_from([None, *TaskLabel])
votes = st.lists(st.builds(Vote, ANSWERS, TASKS), min_size=1, max_size=9)
tooleval_pass, compare_round = OUR_RULE.count_pass, OUR_RULE.compare_orders


def settle_round(own: Vote | None, other: Vote | None) -> float | None:
    """The result of a round of runs with nothing in common by the rule `ours`; None is the vote of a missing run."""
    runs = [RunVerdict(MISSING if vote is None else "answered", (vote or UNSOLVED,)) for vote in (own, other)]
    verdict = ToolVerdict(*runs, similarity=Similarity.NOTHING)
    return OUR_RULE.settle(verdict, own or UNSOLVED, other or UNSOLVED)


def scores(verdict: ToolVerdict) -> dict[str, float]:
    task = Task("tooleval", "", "1", "?")
    found = BENCHMARK.score(task, EpisodeResult(verdict.as_text()))
    return {one.metric: one.value for one in found}


@pytest.mark.parametrize(
    ("answer", "task", "passed"),
    [
        ("solved", "solvable", 1),
        ("solved", "unsure", 1),
        ("solved", "unsolvable", 1),
        ("unsure", "solvable", 0.5),
        ("unsure", "unsure", 0.5),
        ("unsure", "unsolvable", 1),
        ("unsolved", "solvable", 0),
        ("unsolved", "unsure", 0.5),
        ("unsolved", "unsolvable", 1),
        ("solved", None, 1),
        ("unsure", None, 0),
        ("unsolved", None, 0),
    ],
)
def test_every_cell_of_the_table(answer, task, passed):
    vote = Vote(AnswerLabel(answer), TaskLabel(task) if task else None)
    assert vote.worth == tooleval_pass([vote]) == passed


def test_the_table_is_complete():
    assert {(answer, task) for answer, row in TABLE.items() for task in row} == {*product(AnswerLabel, TaskLabel)}


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ((), 0),
        ((1,), 1),
        ((0,), 0),
        ((0.5,), 0.5),
        ((1, 0), 0.5),
        ((1, 1, 0), 1),
        ((1, 0, 0), 0),
        ((1, 0.5, 0), 0.5),
        ((0.5, 0.5, 1), 1),
        ((0.5, 0.5, 0), 0),
        ((1, 1, 0, 0), 0.5),
    ],
)
def test_majorities_have_no_coin(values, found):
    assert majority(values) == found


@pytest.mark.parametrize(
    ("own", "other", "found"),
    [
        (None, None, 0.5),
        (None, UNSOLVED, 0),
        (None, SOLVED, 0),
        (UNSOLVED, None, 1),
        (SOLVED, None, 1),
        (SOLVED, UNSOLVED, 1),
        (UNSOLVED, SOLVED, 0),
        (SOLVED, SOLVED, None),
        (UNSOLVED, UNSOLVED, None),
        (SOLVED, Vote(AnswerLabel.UNSURE, TaskLabel.SOLVABLE), None),
        (UNSOLVED, Vote(AnswerLabel.UNSURE, TaskLabel.SOLVABLE), None),
        (Vote(AnswerLabel.UNSOLVED, TaskLabel.UNSOLVABLE), UNSOLVED, 1),
    ],
)
def test_a_round_that_needs_no_comparison(own, other, found):
    assert settle_round(own, other) == found


def test_every_pair_of_preferences():
    first, second, tie = Preference.FIRST, Preference.SECOND, Preference.TIE
    wins = {pair: compare_round(*pair) for pair in product(Preference, Preference)}
    assert wins.pop((first, second)) == 1 and wins.pop((second, first)) == 0
    assert wins == dict.fromkeys(
        [(first, first), (first, tie), (second, second), (second, tie), (tie, first), (tie, second), (tie, tie)], 0.5
    )


@given(st.sampled_from(Preference), st.sampled_from(Preference))
def test_comparing_the_other_way_round_gives_the_rest(one, two):
    assert compare_round(one, two) == 1 - compare_round(two, one)


@given(st.none() | votes.map(lambda found: found[0]), st.none() | votes.map(lambda found: found[0]))
def test_what_is_settled_is_settled_the_other_way_round(one, two):
    found, turned = settle_round(one, two), settle_round(two, one)
    assert turned is None if found is None else turned == 1 - found


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1))
def test_a_majority_turned_round_is_the_rest(values):
    assert majority([1 - value for value in values]) == 1 - majority(values)


@given(votes, st.permutations(range(9)))
def test_the_order_of_votes_changes_nothing(found, order):
    shuffled = [found[place] for place in order if place < len(found)]
    for rate in (strict_pass, tooleval_pass, solvable_pass):
        assert rate(shuffled) == pytest.approx(rate(found))


@given(votes)
def test_no_vote_is_worth_less_than_a_failed_run(found):
    """So a run that is dropped, whose votes are all `unsolved` and of no task, raises no rate."""
    dropped = [UNSOLVED] * len(found)
    for rate in (strict_pass, tooleval_pass, solvable_pass):
        assert rate(dropped) == 0 <= rate(found) <= 1


@given(votes)
def test_passing_strictly_is_passing_by_the_table(found):
    assert strict_pass(found) <= tooleval_pass(found)


def test_solvable_pass_is_the_mean_of_the_votes():
    assert solvable_pass([SOLVED, UNSURE, UNSOLVED]) == 0.5 and solvable_pass([SOLVED, SOLVED, UNSURE]) == 5 / 6


ROUNDS = st.builds(
    Round,
    st.sampled_from([None, 0.0, 0.5, 1.0]),
    st.sampled_from([(), (Preference.FIRST, Preference.TIE)]),
    st.none() | st.sampled_from(Preference),
    st.none() | st.just((0, 0)),
)


@given(votes, st.none() | votes, st.lists(ROUNDS, max_size=5), st.none() | st.sampled_from(Similarity))
def test_a_verdict_is_read_as_it_was_written(own, other, rounds, similarity):
    made = ToolVerdict(RunVerdict("answered", tuple(own)), unreadable=3)
    if other is not None:
        rules = (OURS,) if similarity is None else ("tooleval", OURS)
        opponent = RunVerdict("gave_up", tuple(other))
        made = ToolVerdict(made.verdict, opponent, tuple(rounds), 3, rules=rules, similarity=similarity)
    assert ToolVerdict.from_text(made.as_text()) == made


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"run": 1}',
        "[" * 100_000,
        '{"run": {"ended": "", "votes": [{}]}}',
        '{"run": {"ended": "", "votes": [{"answer": "good"}]}, "unreadable": 0}',
        f'{{{RUNS}, "rounds": [{{"win": 1, "preferences": [], "votes": [0, 1]}}], "unreadable": 0}}',
        f'{{{RUNS}, "rounds": [{{"win": 1, "preferences": [], "votes": []}}], "unreadable": 0}}',
        f'{{{RUNS}, "rounds": [], "similarity": "some", "unreadable": 0}}',
    ],
)
def test_what_is_no_verdict_is_refused(text):
    with pytest.raises(ValueError):
        ToolVerdict.from_text(text)


def test_scores_of_a_verdict():
    own = RunVerdict("answered", (SOLVED, Vote(AnswerLabel.UNSOLVED, TaskLabel.UNSOLVABLE), UNSURE))
    assert scores(ToolVerdict(own)) == {"pass": 0, "tooleval_pass": 1, "sopr": 0.5}
    rounds = (Round(1.0), Round(0.0), Round(1.0))
    assert scores(ToolVerdict(own, own, rounds))["win"] == 1 and BENCHMARK.metrics[0] == "pass"


def test_what_was_not_judged_has_no_score():
    """So it is neither left out nor counted as judged: the report has bounds for it."""
    assert list(BENCHMARK.score(Task("tooleval", "", "1", "?"), EpisodeResult(None, "infra_error"))) == []
