"""Majority votes: which answers are the same, ties, groups of samples, and maj@k of a job."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import pytest

import lumos_queue as lq
from db.queries.samples import TaskSamples
from lumos_queue.reports.json_values import as_json
from lumos_queue.reports.samples import measure_majority
from lumos_queue.scoring.answer_kinds import AnswerKind
from lumos_queue.scoring.majority import majority_at, majority_score, read_vote
from lumos_queue.settings import Settings


@pytest.mark.parametrize(
    ("kind", "same", "different"),
    [
        (AnswerKind.NUMBER, ["12", "12.0", "$12", "12 apples"], ["13", "12 or 13", "many"]),
        (AnswerKind.CHOICE, ["B", "(B)", "the owl"], ["A", "neither"]),
        (AnswerKind.YES_NO, ["Yes", "yes.", "true"], ["no", "perhaps"]),
        (AnswerKind.TEXT, ["The Danube", "danube."], ["Rhine", "12"]),
    ],
)
def test_equal_answers_have_one_vote(kind, same, different):
    choices = ("bat", "the owl")
    votes = {read_vote(answer, kind, choices) for answer in same}
    assert len(votes) == 1 and None not in votes
    others = [read_vote(answer, kind, choices) for answer in different]
    assert not votes & set(others) and len(set(others)) == len(others)
    assert read_vote(None, kind, choices) is None


def test_the_most_frequent_answer_counts():
    assert majority_score(["a", "b", "a"], [1.0, 0.0, 1.0]) == 1.0
    assert majority_score(["a", "b", "b"], [1.0, 0.0, 0.0]) == 0.0
    assert majority_score(["a", None, None], [1.0, 0.0, 0.0]) == 1.0, "no answer is no vote"
    assert majority_score([None, None], [0.0, 0.0]) == 0.0
    assert majority_score(["a", "b"], [1.0, 0.0]) == 0.5
    assert majority_score(["a", "b", "c", "a", "b"], [1.0, 0.0, 0.0, 1.0, 0.0]) == 0.5, "c is not among the winners"


def test_a_tie_counts_as_the_mean_over_who_may_win():
    votes, scores = ["a", "b", "b", "a", "c"], [1.0, 0.0, 0.0, 1.0, 1.0]

    def first_of_the_most_frequent(order):
        counts = Counter(votes[place] for place in order)
        winner = max(counts, key=lambda vote: (counts[vote], -[votes[place] for place in order].index(vote)))
        return next(score for vote, score in zip(votes, scores, strict=True) if vote == winner)

    orders = list(permutations(range(5)))
    expected = sum(map(first_of_the_most_frequent, orders)) / len(orders)
    assert majority_score(votes, scores) == pytest.approx(expected)


def test_samples_are_grouped_and_the_rest_is_left_out():
    votes, scores = ["a", "a", "b", "b", "a"], [1.0, 1.0, 0.0, 0.0, 1.0]
    assert majority_at(2, votes, scores) == 0.5
    assert majority_at(5, votes, scores) == 1.0
    assert majority_at(1, votes, scores) == 0.6
    for k in (0, 6):
        with pytest.raises(ValueError, match="no group of"):
            majority_at(k, votes, scores)


def test_tasks_with_too_few_samples_are_counted():
    tasks = [
        TaskSamples("", ["1", "1", "2", "1"], [1.0, 1.0, 0.0, 1.0]),
        TaskSamples("", ["1", "2"], [0.0, 1.0]),
    ]
    two, four = as_json(measure_majority(tasks, AnswerKind.NUMBER, 4, 3))
    assert (two["k"], two["value"], two["of"], two["too_few"]) == (2, pytest.approx((0.75 + 0.5) / 2), 2, 1)
    assert (four["k"], four["value"], four["of"], four["too_few"]) == (4, 1.0, 1, 2)
    (none,) = as_json(measure_majority([], AnswerKind.NUMBER, 2, 3))
    assert (none["value"], none["of"], none["ci95"]) == (None, 0, [0.0, 1.0])


def test_a_job_reports_the_majority_of_its_samples(tmp_path):
    asked = Counter()

    def solve(prompt: str) -> str:
        """Two of three samples are right."""
        asked[prompt] += 1
        return f"{gold[prompt]}.0 apples" if asked[prompt] == 1 else "0" if asked[prompt] == 2 else str(gold[prompt])

    rows = [{"question": f"How many are {number} and 3?", "answer": f"#### {number + 3}"} for number in range(1, 5)]
    gold = {f"<|user|>\n{row['question']}\n<|assistant|>\n": int(row["answer"].removeprefix("#### ")) for row in rows}
    job = lq.evaluate(
        "gsm8k",
        rows=rows,
        formulation="direct",
        solver=solve,
        samples=3,
        temperature=1.0,
        deployment=Settings(home=tmp_path),
    ).wait()
    samples = job.report()["samples"]
    assert next((share["k"], share["value"]) for share in samples["pass_at"]) == (1, pytest.approx(2 / 3))
    assert [(share["k"], share["value"], share["of"]) for share in samples["majority_at"]][-1] == (3, 1.0, 4)
