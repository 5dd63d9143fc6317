"""Rules without a model."""

from __future__ import annotations

from lumos_queue.records import Task
from lumos_queue.scoring.number_baselines import numeric_baselines


def verdicts(*rows: tuple[str, str]) -> dict[str, list[bool]]:
    tasks = [Task("any", "", str(number), question, gold=gold) for number, (question, gold) in enumerate(rows, start=1)]
    found = numeric_baselines(tasks, lambda task: task.gold)
    return {name: list(map(bool, judged)) for name, judged in found.items()}


def test_each_rule_uses_the_numbers_it_says():
    found = verdicts(
        ("3 pens and 4 pens, 10 in a box", "7"),
        ("3 pens and 5 pens, 10 in a box", "2"),
        ("3 pens and 4 pens, 10 in a box", "12"),
        ("3 pens and 4 pens, 10 in a box", "6"),
        ("3 pens and 4 pens, 10 in a box", "99"),
    )
    assert found["sum of first two"] == [True, False, False, False, False]
    assert found["difference of first two"] == [False, True, False, False, False]
    assert found["product of first two"] == [False, False, True, False, False]
    assert found["difference of last two"] == [False, False, False, True, False]


def test_the_best_constant_is_the_most_frequent_answer():
    assert verdicts(("?", "5"), ("?", "6.0"), ("?", "6"), ("?", "yes"))["best constant"] == [False, True, True, False]


def test_words_count_where_there_are_too_few_figures():
    assert verdicts(("Six grey and two white cats", "8"))["sum of first two"] == [True]
    assert verdicts(("One pen is 3 cm, another 4 cm", "7"))["sum of first two"] == [True]


def test_questions_with_too_few_numbers_are_wrong():
    found = verdicts(("How many?", "0"), ("5 pens", "5"))
    assert [found[name] for name in found if name != "best constant"] == [[False, False]] * 4


def test_an_answer_that_is_text_is_wrong_under_every_rule():
    assert not any(any(found) for found in verdicts(("1 and 2", "Monday")).values())


def test_no_tasks_give_no_verdicts():
    assert set(map(tuple, verdicts().values())) == {()}


def test_the_first_of_the_commonest_answers_is_the_constant():
    found = verdicts(("?", "9"), ("?", "8"), ("?", "1/2"), ("?", "8"), ("?", "0.5"))
    assert found["best constant"] == [False, True, False, True, False]


def test_answers_with_equal_hashes_of_their_numbers_are_different_constants():
    """Python's hash of a number is its remainder of 2**61 - 1."""
    found = verdicts(("?", "1"), ("?", "1"), ("?", str(2**61)), ("?", "1"))
    assert found["best constant"] == [True, True, False, True]


def test_each_task_is_read_once():
    rows = iter([Task("any", "", "1", "2 and 3", gold="5"), Task("any", "", "2", "2 and 4", gold="8")])
    found = numeric_baselines(rows, lambda task: task.gold)
    assert list(found["sum of first two"]) == [1, 0] and list(found["product of first two"]) == [0, 1]
