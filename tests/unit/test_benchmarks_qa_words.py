"""Comparing answers word by word, and by the vote of a judge."""

from __future__ import annotations

import pytest

from lumos_queue.benchmarks.base import EpisodeResult
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.records import Task
from lumos_queue.scoring.spans import exact_match, f1, is_no_answer, read_answer

HOTPOTQA = open_benchmark("hotpotqa")


def hotpot(answer="Oslo"):
    question = "Where was the founder of Acme born?"
    return Task("hotpotqa", "", "1", question, gold={"answer": answer, "pages": []})


@pytest.mark.parametrize(
    ("answer", "gold", "same", "shared"),
    [
        ("The Eiffel Tower!", "eiffel tower", True, 1),
        ("U.S.A.", "USA", True, 1),
        ("Oslo", "Bergen", False, 0),
        ("in Oslo", "Oslo", False, 2 / 3),
        ("Ann Berg", "Berg", False, 2 / 3),
        ("a b b c", "b b d", False, 4 / 6),
        ("the", "a", True, 1),
        ("the", "Oslo", False, 0),
        ("Theodore", "odore", False, 0),
        ("1,400 metres", "1400 metres", True, 1),
    ],
)
def test_words_are_compared_as_for_squad(answer, gold, same, shared):
    assert exact_match(answer, gold) is same
    assert f1(answer, gold) == pytest.approx(shared) and f1(gold, answer) == pytest.approx(shared)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Oslo", "Oslo"),
        ("Answer: Oslo.", "Oslo"),
        (" answer:Oslo", "Oslo"),
        ("Question: Where?; Answer: Oslo", "Oslo"),
        ("We know. Based on these evidences and decomposed questions, the answer is Oslo.", "Oslo"),
        ("The Answer: a film", "The Answer: a film"),
        ("Wait...", "Wait..."),
        ("", ""),
        (".", ""),
    ],
)
def test_what_stands_before_an_answer_is_no_part_of_it(text, answer):
    assert read_answer(text) == answer


@pytest.mark.parametrize("text", ["No answer", "no answer.", "Answer: No answer", "", " ", "noanswer"])
def test_no_answer_is_none(text):
    assert is_no_answer(text) and not is_no_answer("No") and not is_no_answer("No answer is known to Ann")


def test_the_judge_is_asked_word_for_word():
    prompt = HOTPOTQA.judge_prompt(hotpot("{answer} of Oslo"), "Answer: {question}")
    assert prompt == (
        "Please judge whether the model prediction can be regarded as correct according to the given question and its "
        "ground-truth answer. Please answer 'CORRECT' or 'INCORRECT'. No more details and explanations.\n\n"
        "Question: Where was the founder of Acme born?\nModel prediction: {question}\n"
        "Ground-truth answer: {answer} of Oslo\n"
    )
    assert len(HOTPOTQA.judge_prompt(hotpot(), "x" * 10_000)) < 3000


@pytest.mark.parametrize(
    ("vote", "correct"),
    [
        ("CORRECT", 1),
        ("CORRECT.", 1),
        (" 'CORRECT'\n", 1),
        ("**Correct**", 1),
        ("**CORRECT.**", 1),
        ("“correct”", 1),
        ("`CORRECT`", 1),
        ("INCORRECT", 0),
        ("Incorrect.", 0),
        ("**INCORRECT**", 0),
    ],
)
def test_a_vote_is_read_and_kept(vote, correct):
    exact, _, voted = HOTPOTQA.score(hotpot(), EpisodeResult("Bergen", vote=vote))
    assert (voted.metric, voted.value, exact.value) == ("llm_accuracy", correct, 0)
    assert voted.detail == vote


@pytest.mark.parametrize(
    "vote",
    [
        "It isn't correct.",
        "That's hardly correct",
        "I cannot judge whether this is correct",
        "CORRECT or not? No",
        "correct, though wrong year",
        "not correct",
        "Never CORRECT",
        "CORRECT or INCORRECT",
        "CORRECT INCORRECT",
        "CORRECT?",
        "The prediction is CORRECT.",
        "IN CORRECT",
        "CORRECTED",
        "",
        "I cannot say",
        "1",
        "≠ CORRECT",
    ],
)
def test_a_vote_of_more_than_the_verdict_counts_as_incorrect_and_is_told(vote):
    voted = HOTPOTQA.score(hotpot(), EpisodeResult("Bergen", vote=vote))[2]
    assert (voted.metric, voted.value, voted.detail) == ("llm_accuracy", 0, f"unreadable: {vote}")


def test_the_space_in_front_of_a_final_full_stop_goes_with_it():
    assert read_answer(" Answer: Ann Lee . ") == "Ann Lee"
