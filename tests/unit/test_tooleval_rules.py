"""ToolEval's two rules over the same votes: against an oracle that tosses the coins, and against earlier figures."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lumos_queue.benchmarks.base import EpisodeResult
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.records import Task
from lumos_queue.scoring.coins import count_coins
from lumos_queue.scoring.tool_verdicts import MISSING, OURS, Round, RunVerdict, Similarity, ToolVerdict
from lumos_queue.scoring.tool_votes import AnswerLabel, Preference, TaskLabel, Vote, solvable_pass, strict_pass
from lumos_queue.scoring.tooleval import OUR_RULE, RULES, TOOLEVAL_RULE, Order, Result
from tests.tooleval_oracle import (
    LOST,
    TIED,
    WON,
    Pair,
    Run,
    expect,
    expected_outcomes,
    printed_pass,
    random_pairs,
    rounds_with_questions,
)
from tests.tooleval_scripts import TableJudge, judge_pair, make_runs, our_rounds, with_similarity_of

SEED = 49
BOTH = tuple(rule.name for rule in RULES)
#: sha256 (16 digits) of what the code before the second rule gave for the tables of this seed.
SCORES_BEFORE = "8f5a52c51614a835"  #: of 10,000 tables: the scores of their votes
VERDICTS_BEFORE = {
    300: "410fefcbe41378d1",
    10_000: "a4f7916680ffb362",
}  #: number of tables: the questions and the stored verdicts


def votes_of(run: Run) -> tuple[Vote, ...]:
    return tuple(Vote(AnswerLabel(answer), TaskLabel(task) if task else None) for answer, task in run.votes)


def verdict_of(pair: Pair) -> ToolVerdict:
    """The verdict on a table, with a preference only where a rule has the judge asked. Read back as it was stored."""
    runs = [
        RunVerdict(MISSING if run.is_missing else "answered", votes_of(run)) for run in (pair.candidate, pair.reference)
    ]
    similarity = (
        Similarity.ALL if pair.is_identical else Similarity.ANSWER if pair.has_same_answers else Similarity.NOTHING
    )
    verdict = ToolVerdict(*runs, rules=BOTH, similarity=similarity)
    rounds = []
    for number, votes in enumerate(zip(*(run.votes for run in runs), strict=True)):
        win, preferences, other_first = OUR_RULE.settle(verdict, *votes), (), None
        if OUR_RULE.list_orders(verdict, *votes):
            preferences = Preference(pair.candidate_first[number]), Preference(pair.reference_first[number])
            win = OUR_RULE.compare_orders(*preferences)
        elif TOOLEVAL_RULE.list_orders(verdict, *votes):
            other_first = Preference(pair.reference_first[number])
        rounds.append(Round(win, preferences, other_first, (number, number)))
    verdict = replace(verdict, rounds=tuple(rounds))
    assert ToolVerdict.from_text(verdict.as_text()) == verdict
    return verdict


def check_tables(count: int) -> None:
    for pair in random_pairs(SEED, count):
        verdict, outcomes = verdict_of(pair), expected_outcomes(pair)
        for run in (pair.candidate, pair.reference):
            assert TOOLEVAL_RULE.count_pass(votes_of(run)) == float(printed_pass(run))
        assert TOOLEVAL_RULE.compare(verdict) == Result(float(outcomes[WON]), float(outcomes[TIED])), pair
        assert not any(rule.lacks_votes(verdict) for rule in RULES)


def test_rates_are_the_expectation_over_all_coins():
    check_tables(1_500)


@pytest.mark.long
def test_rates_of_ten_thousand_tables_are_the_expectation_over_all_coins():
    check_tables(10_000)


def test_our_rule_is_unchanged():
    rows = []
    for pair in random_pairs(SEED, 10_000):
        own, other = map(votes_of, (pair.candidate, pair.reference))
        result = OUR_RULE.compare(verdict_of(pair))
        assert result is not None
        passes = [OUR_RULE.count_pass(own), OUR_RULE.count_pass(other), strict_pass(own), solvable_pass(own)]
        rows.append([*passes, result.win])
    assert hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:16] == SCORES_BEFORE


# --- what the judge is asked


def judge_tables(count: int, version: int) -> tuple[str, Counter[str]]:
    """Judge runs made for tables. Return the digest of the questions and verdicts, and the numbers of questions."""
    digest, questions = hashlib.sha256(), Counter[str]()
    for table in random_pairs(SEED, count):
        own, other = make_runs(table)
        pair = with_similarity_of(table, own, other)
        both_orders = our_rounds(pair)
        reference_first = both_orders | (rounds_with_questions(pair) if version >= 4 else set())
        judge = TableJudge(pair, both_orders, reference_first)
        text = judge_pair(judge, own, other, len(pair.candidate.votes), version)
        assert judge.is_done, f"not asked of {pair}"
        digest.update(json.dumps([judge.questions, text]).encode())
        questions.update(judge.questions)
        if version >= 4:
            verdict, outcomes = ToolVerdict.from_text(text), expected_outcomes(pair)
            assert TOOLEVAL_RULE.compare(verdict) == Result(float(outcomes[WON]), float(outcomes[TIED]))
            assert OUR_RULE.compare(verdict) == OUR_RULE.compare(verdict_of(pair))
    return digest.hexdigest()[:16], questions


def test_the_judge_is_asked_what_both_rules_need_and_no_more():
    _, before = judge_tables(300, 3)
    _, after = judge_tables(300, 4)
    assert after - before == {"reference": after["reference"] - before["reference"]} and not before - after
    assert 0 < after.total() - before.total() < before.total() / 50


@pytest.mark.parametrize("count", [300, pytest.param(10_000, marks=pytest.mark.long)])
def test_jobs_of_earlier_versions_ask_and_store_what_they_did(count):
    assert judge_tables(count, 3)[0] == VERDICTS_BEFORE[count]


@pytest.mark.long
def test_ten_thousand_tables_are_judged_for_both_rules():
    assert judge_tables(10_000, 4)[1].total() == 128_962, "127,603 for the rule `ours` alone"


# --- cases of the rules

SOLVED, UNSURE = Vote(AnswerLabel.SOLVED), Vote(AnswerLabel.UNSURE, TaskLabel.SOLVABLE)
UNSOLVED, REFUSED = Vote(AnswerLabel.UNSOLVED, TaskLabel.SOLVABLE), Vote(AnswerLabel.UNSOLVED, TaskLabel.UNSOLVABLE)
FAILED = Vote(AnswerLabel.UNSOLVED)


@pytest.mark.parametrize(
    ("votes", "printed", "label"),
    [
        ((SOLVED, SOLVED, UNSOLVED, UNSOLVED), 1, 0.5),
        ((SOLVED, UNSOLVED, UNSOLVED, UNSOLVED), 0, 0),
        ((UNSURE,), 0.5, 0.5),
        ((UNSURE, UNSURE), 0.75, 0.5),
        ((SOLVED, UNSURE, UNSOLVED), 0.5, 0.5),
        ((SOLVED, UNSURE, UNSOLVED, UNSOLVED), 0.5, 0.25),
        ((REFUSED, REFUSED), 1, 1),
    ],
)
def test_passes_of_votes(votes, printed, label):
    assert TOOLEVAL_RULE.count_pass(votes) == printed and TOOLEVAL_RULE.compute_label(votes) == label


def test_without_votes_nothing_passes():
    assert [rule.count_pass(()) for rule in RULES] == [0, 0]


def compare(own: RunVerdict, other: RunVerdict, *preferences: str, similarity: Similarity = Similarity.NOTHING):
    rounds = tuple(
        Round(None, other_first=Preference(preference) if preference else None, votes=(index, index))
        for index, preference in enumerate(preferences)
    )
    return TOOLEVAL_RULE.compare(ToolVerdict(own, other, rounds, rules=BOTH, similarity=similarity))


def run_with(*votes: Vote, ended: str = "answered") -> RunVerdict:
    return RunVerdict(ended, votes)


def test_cases_of_comparisons():
    passed, failed, missing = run_with(SOLVED), run_with(UNSOLVED), run_with(FAILED, ended=MISSING)
    assert compare(passed, failed, "") == Result(1, 0) and compare(failed, passed, "") == Result(0, 0)
    assert compare(failed, missing, "") == Result(1, 0) and compare(missing, failed, "") == Result(0, 0)
    assert compare(missing, missing, "") == Result(1, 0), "both: the candidate"
    assert compare(passed, passed, "first") == Result(0, 0) and compare(passed, passed, "second") == Result(1, 0)
    assert compare(passed, passed, "tie") == Result(0.5, 0)
    assert compare(passed, passed, "", similarity=Similarity.ALL) == Result(0.5, 0)
    solved, refused = run_with(SOLVED, SOLVED), run_with(REFUSED, REFUSED)
    assert compare(solved, refused, "", "") == Result(1, 0), "both pass, and solved beats unsolved"
    assert compare(solved, solved, "first", "second") == Result(0, 1), "a tie is reported"
    assert compare(solved, solved, "", "", similarity=Similarity.ALL) == Result(0.25, 0.5)
    unsure = run_with(UNSURE)
    assert compare(unsure, failed, "") == Result(1, 0), "with equal labels unsure beats unsolved"
    assert compare(unsure, passed, "") == Result(0, 0)
    assert compare(unsure, unsure, "first") == Result(0.25, 0), "half of the coins give different labels"
    assert Result(0.25, 0.5).win == 0.5


def test_a_question_that_only_rare_coins_need_is_asked():
    """The probability 2^-99 is not lost beside 1."""
    own, other = run_with(*(UNSURE,) * 99), run_with(*(SOLVED,) * 50, *(UNSURE,) * 49)
    verdict = ToolVerdict(own, other, rules=BOTH, similarity=Similarity.NOTHING)
    assert TOOLEVAL_RULE.list_orders(verdict, SOLVED, SOLVED) == (Order.OTHER_FIRST,)
    sure = ToolVerdict(run_with(UNSOLVED), run_with(SOLVED), rules=BOTH, similarity=Similarity.NOTHING)
    assert TOOLEVAL_RULE.list_orders(sure, SOLVED, SOLVED) == ()


@given(st.integers(0, 5), st.integers(0, 5), st.integers(0, 7))
def test_counts_of_coins(first, second, coins):
    def play(coin):
        heads = sum(coin() for _ in range(coins))
        lead = first + heads - second - (coins - heads)
        return WON if lead > 0 else LOST if lead else TIED

    count, outcomes = count_coins(first, second, coins), expect(play)
    assert (count.more, count.equal) == (outcomes.get(WON, Fraction(0)), outcomes.get(TIED, Fraction(0)))


# --- stored judgements of earlier versions


def verdict_before(own: list[str], other: list[str], rounds: list[tuple[float, list[str]]], **fields: int) -> str:
    """A stored text of version 3: an own vote and another vote in each round, the result, and the preferences."""
    runs = [{"ended": "answered", "votes": [{"answer": name} for name in names]} for names in (own, other)]
    stored_rounds = [{"win": float(win), "preferences": names} for win, names in rounds]
    return json.dumps({"run": runs[0], "against": runs[1], "rounds": stored_rounds, "unreadable": 0} | fields)


@pytest.mark.parametrize(
    ("text", "similarity", "result"),
    [
        (verdict_before(["solved"], ["unsolved"], [(1, [])]), None, Result(1, 0)),
        (verdict_before(["solved"], ["solved"], [(1, ["first", "second"])]), None, Result(1, 0)),
        (verdict_before(["solved"], ["solved"], [(0.5, ["first", "first"])]), None, Result(0, 0)),
        (verdict_before(["solved"], ["solved"], [(0.5, [])]), Similarity.ALL, Result(0.5, 0)),
        (verdict_before(["solved"], ["solved"], [(0.5, [])]), Similarity.ANSWER, None),
        (verdict_before(["solved"] * 2, ["solved"] * 2, [(0.5, [])] * 2), None, None),
        (
            verdict_before(["solved"] * 3, ["solved"] * 3, [(1, ["first", "second"])] * 2 + [(0.5, [])]),
            None,
            Result(1, 0),
        ),
        (verdict_before(["solved"] * 2, ["solved"] * 2, [(1, ["first", "second"]), (0.5, [])]), None, None),
        (verdict_before(["solved"], ["solved"] * 2, [(0.5, ["first", "first"])], missing=1), None, None),
        (verdict_before(["solved"], ["unsolved"] * 2, [(1, [])], missing=1), None, Result(1, 0)),
    ],
)
def test_earlier_votes_give_what_they_determine(text, similarity, result):
    verdict = ToolVerdict.from_text(text)
    assert verdict.rules == (OURS,) and verdict.as_text() == text
    verdict = replace(verdict, similarity=similarity)
    assert TOOLEVAL_RULE.compare(verdict) == result
    assert TOOLEVAL_RULE.lacks_votes(verdict) == (result is None) and OUR_RULE.compare(verdict) is not None


def test_a_round_whose_reply_is_missing_is_left_out_and_lacks_nothing():
    runs = run_with(SOLVED, SOLVED), run_with(SOLVED, SOLVED)
    assert compare(*runs, "second", "") == Result(1, 0) and compare(*runs, "", "") is None
    verdict = ToolVerdict(*runs, (Round(None, votes=(0, 0)),), rules=BOTH, similarity=Similarity.NOTHING)
    assert not TOOLEVAL_RULE.lacks_votes(verdict)


def test_a_job_scores_its_runs_by_our_rule():
    text = verdict_of(next(random_pairs(3, 1))).as_text()
    scores = open_benchmark("tooleval").score(Task("tooleval", "", "1", "?"), EpisodeResult(text))
    result = OUR_RULE.compare(ToolVerdict.from_text(text))
    assert result is not None and {score.metric: score.value for score in scores}["win"] == result.win
