"""How answers to ToolWorld's tasks are judged: part by part, by rule; and whether a call held what was looked for."""

from __future__ import annotations

import pytest

from lumos_queue.benchmarks.base import EpisodeResult
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.benchmarks.toolworld.answer_check import MAX_ANSWER, PartCheck, check_answer, holds_value
from lumos_queue.records import Execution, Task

RIGHT, REFUSED, WRONG, MISSING = PartCheck
BENCHMARK = open_benchmark("toolworld")


def gold(*answers: str | None) -> list[dict]:
    return [
        {"asked": f"the fee of the driver DR-1000{place}", "answer": one, "calls": [{"value": one or "70118"}]}
        for place, one in enumerate(answers)
    ]


def scores(answer: str | None, *answers: str | None) -> dict[str, float]:
    task = Task("toolworld", "", "1", "?", gold={"parts": gold(*answers), "relevant": []})
    found = BENCHMARK.score(task, EpisodeResult(answer))
    assert tuple(one.metric for one in found) == BENCHMARK.metrics_of(task)
    return {one.metric: one.value for one in found}


ANSWERS = [
    ("1: 20417; 2: 33051", [RIGHT, RIGHT]),
    ("2: 33051; 1: 20417", [RIGHT, RIGHT]),
    ("(1) 20417\n(2) 33,051", [RIGHT, RIGHT]),
    ("1. 20417. 2. 33051.", [RIGHT, RIGHT]),
    ("1) the fee of the driver DR-10000 is 20417, 2) that of DR-10001 is 33051", [RIGHT, RIGHT]),
    ("Part 1: 20417; part 2: 33051", [RIGHT, RIGHT]),
    ("1: 33051; 2: 20417", [WRONG, WRONG]),
    ("1: 20417; 2: unknown", [RIGHT, REFUSED]),
    ("1: 20417; 2: it could not be found", [RIGHT, REFUSED]),
    ("1: 20417; 2: unknown, perhaps 33051", [RIGHT, WRONG]),
    ("1: 20417 or 33051; 2: 33051", [WRONG, RIGHT]),
    ("1: 20417; 1: 99999; 2: 33051", [WRONG, RIGHT]),
    ("1: 20417", [RIGHT, MISSING]),
    ("1: 20417; 2:", [RIGHT, MISSING]),
    ("1: 20417; 2: the driver DR-10001", [RIGHT, MISSING]),
    ("20417 and 33051", [MISSING, MISSING]),
    ("1: 20417.5; 2: 330510", [WRONG, WRONG]),
    ("1: 20417; 2: 33051; 3: 11111", [RIGHT, WRONG]),
    ("", [MISSING, MISSING]),
    ("1: that of DR-100 is 20417; 2: that of DR-1001 is 33051", [RIGHT, RIGHT]),
    ("1: 20417; 2: " + " " * MAX_ANSWER + "33051", [RIGHT, MISSING]),
]


@pytest.mark.parametrize(("answer", "found"), ANSWERS, ids=[one[:60] for one, _ in ANSWERS])
def test_each_part_of_an_answer_is_checked(answer, found):
    assert check_answer(gold("20417", "33051"), answer) == found


def test_an_answer_to_one_part_needs_no_number():
    for answer in ("20417", "The fee is 20417.", "1: 20417", "1: the fee of the driver dr-10000 is 20417"):
        assert check_answer(gold("20417"), answer) == [RIGHT]
    assert check_answer(gold("20417"), "The fee is 20418.") == [WRONG]
    assert check_answer(gold("20417"), "The fee is unknown.") == [REFUSED]


def test_a_part_without_an_answer_is_right_where_it_is_refused_and_nothing_is_claimed():
    assert check_answer(gold("20417", None), "1: 20417; 2: unknown") == [RIGHT, RIGHT]
    assert check_answer(gold("20417", None), "1: 20417; 2: 33051") == [RIGHT, WRONG]
    assert check_answer(gold("20417", None), "1: 20417; 2: not found, perhaps 33051") == [RIGHT, WRONG]
    assert check_answer(gold("20417", None), "1: 20417") == [RIGHT, MISSING]


def test_a_verified_pass_is_of_solvable_tasks_alone():
    assert scores("1: 20417; 2: 33051", "20417", "33051") == {
        "pass": 1,
        "verified_pass": 1,
        "partial": 1,
        "false_finish": 0,
    }
    assert scores("1: 20417; 2: unknown", "20417", "33051") == {
        "pass": 0,
        "verified_pass": 0,
        "partial": 0.5,
        "false_finish": 0,
    }


def test_a_false_finish_claims_a_wrong_value_or_leaves_a_part_out():
    for answer in ("1: 20417; 2: 99999", "1: 20417", "Done.", "1: 20417; 2: unknown or 33051"):
        assert scores(answer, "20417", "33051")["false_finish"] == 1, answer
    for answer in ("1: 20417; 2: unknown", "1: unknown; 2: unknown", "", " ", None):
        assert scores(answer, "20417", "33051")["false_finish"] == 0, answer


def test_a_right_refusal_names_the_missing_part_and_claims_nothing_for_it():
    both = {"pass": 1, "right_refusal": 1, "partial": 1, "false_finish": 0}
    assert scores("1: 20417; 2: unknown", "20417", None) == both
    assert scores("1: unknown; 2: unknown", "20417", None) == {**both, "pass": 0, "partial": 0.5}
    for answer in ("1: 20417; 2: 33051", "1: 20417", None, "I give up."):
        found = scores(answer, "20417", None)
        assert (found["right_refusal"], found["pass"]) == (0, 0), answer


def test_the_gold_answer_of_every_task_passes():
    for split in BENCHMARK.splits:
        for task, _ in zip(BENCHMARK.read(None, split, unsolvable="0.3"), range(30), strict=False):
            assert isinstance(task, Task)
            found = {one.metric: one.value for one in BENCHMARK.score(task, EpisodeResult(BENCHMARK.gold_answer(task)))}
            assert found.pop("false_finish") == 0 and set(found.values()) == {1}


def test_a_call_holds_a_value_of_the_gold_or_it_does_not():
    def held(body: str, **more: str) -> bool:
        return holds_value(gold("20417"), Execution("ok", body, ({"text": body, **more},)))

    assert held('{"error": "", "response": {"driver": "DR-10000", "fee": "20417"}}')
    assert held("cut", full='{"error": "", "response": {"fee": "20417"}}')
    assert not held('{"error": "", "response": {"driver": "DR-20417", "fee": "204170"}}')
    assert not held('{"error": "", "response": {"results": []}}')
