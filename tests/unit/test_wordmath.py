"""The generated benchmark: always the same, in clean English, with gold programs that hold."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections import defaultdict

import pytest

from lumos_queue.benchmarks.base import EpisodeResult
from lumos_queue.benchmarks.wordmath import grammar
from lumos_queue.benchmarks.wordmath.benchmark import SIZES, benchmark
from lumos_queue.benchmarks.wordmath.composer.compose import QUESTIONS
from lumos_queue.benchmarks.wordmath.grammar import DEV, TEST, generate, templates
from lumos_queue.benchmarks.wordmath.words import plural
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.errors import SpecError
from lumos_queue.records import Task

#: Numbers that words of a question stand for, and those that its units bring along.
IMPLIED = {
    "half": 2,
    "twice": 2,
    "two": 2,
    "third": 3,
    "three": 3,
    "quarter": 4,
    "four": 4,
    "fifth": 5,
    "five": 5,
    "sixth": 6,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "eighth": 8,
    "nine": 9,
    "tenth": 10,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "one": 1,
    "week": 7,
    "dozen": 12,
    "year": 12,
    "hour": 60,
    "minute": 60,
    "day": 24,
    "feet": 12,
    "meter": 100,
    "dollar": 100,
    "%": 100,
    "percent": 100,
    "perimeter": 2,
    "there and back": 2,
    "all around": 2,
    "square": 4,
}
NUMBER = re.compile(r"\d+(?:\.\d+)?")


@pytest.fixture(scope="module")
def tasks():
    splits = (("train", 1200), ("familiar", 2000), ("dev", 500), ("test", 1000))
    return [task for split, count in splits for task in generate(split, count)]


def filled_problems(count: int) -> list[Task]:
    """Those of the first `count` training problems that fill a template; the composed ones take most of the time."""
    return [grammar.task("train", 0, index) for index in range(QUESTIONS, count, QUESTIONS + 1)]


def test_two_processes_with_different_hash_seeds_write_the_same_bytes():
    program = (
        "import json; from lumos_queue.benchmarks.wordmath.grammar import generate\n"
        "for split in ('train', 'dev', 'test'):\n"
        "    for task in generate(split, 60, seed=7):\n"
        "        print(json.dumps([task.row, task.question, task.inputs, task.gold]))"
    )
    outputs = [
        subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1]
    assert outputs[0].count(b"\n") == 180


def test_a_task_does_not_depend_on_how_many_are_made():
    assert list(generate("train", 40))[:10] == list(generate("train", 10))


def test_another_seed_gives_other_tasks():
    assert {task.question for task in generate("test", 50, seed=1)}.isdisjoint(
        task.question for task in generate("test", 50, seed=2)
    )


def test_reading_a_split_gives_its_size_and_rows():
    read = list(benchmark.read(None, "dev"))
    assert len(read) == SIZES["dev"] == 500
    assert (read[17].row, read[17].benchmark, read[17].dataset) == ("dev-17", "wordmath", "")
    assert SIZES["test"] == 1000


def test_an_unknown_split_lists_the_choices():
    with pytest.raises(SpecError, match="dev, familiar, test, train"):
        list(benchmark.read(None, "validation"))


def test_a_data_path_is_refused(tmp_path):
    with pytest.raises(SpecError, match="Leave it out"):
        benchmark.read(tmp_path, "dev")


def test_there_are_at_least_a_hundred_templates_with_names_of_their_own():
    names = [template.name for split in ("train", "dev", "test") for template in templates(split)]
    assert len(names) == len(set(names)) >= 100


def test_a_family_lies_wholly_in_one_split():
    families = {split: {template.family for template in templates(split)} for split in ("train", "dev", "test")}
    assert families["dev"] == DEV and families["test"] == TEST
    assert not families["train"] & (DEV | TEST) and not DEV & TEST
    assert sum(map(len, families.values())) >= 40


def test_every_template_is_used_and_operations_run_from_one_to_six(tasks):
    train = [task for task in filled_problems(12_000) if task.inputs["family"] != "composed"]
    assert len(train) == 3000
    assert {task.inputs["template"] for task in train} == {template.name for template in templates("train")}
    assert {task.inputs["operations"] for task in tasks} == {1, 2, 3, 4, 5, 6}


def test_the_maths_tools_print_every_gold_result(tasks):
    async def run_all() -> int:
        actions = 0
        maths = DOMAINS.load("maths").open_actions()
        try:
            for task in tasks[::4]:
                annotation, variables, execution = benchmark.gold(task), {}, None
                for step in annotation.steps:
                    for action, result in zip(step.actions, step.results, strict=True):
                        execution = await maths.execute(action, variables)
                        assert (execution.status, execution.result) == ("ok", result), (task.row, action)
                        variables |= zip(action.variables, execution.values, strict=True)
                        actions += 1
                assert execution.result == annotation.answer
        finally:
            await maths.close()
        return actions

    assert asyncio.run(run_all()) > 1000


def test_no_subgoal_states_its_result(tasks):
    for task in tasks:
        for step in task.gold["steps"]:
            said = set(NUMBER.findall(step["subgoal"]))
            for action in step["actions"]:
                stated = action["result"] in said - set(NUMBER.findall(action["arguments"]))
                assert not stated, (task.row, step)


def test_every_operand_stands_in_the_question_or_is_implied_by_a_word(tasks):
    for task in tasks:
        question = task.question.lower()
        known = {float(number) for number in NUMBER.findall(question)}
        known |= {float(value) for word, value in IMPLIED.items() if word in question}
        for step in task.gold["steps"]:
            for action in step["actions"]:
                if action["name"] != "Count":
                    operands = NUMBER.findall(re.sub(r"R\d+", "", action["arguments"]))
                    assert {float(operand) for operand in operands} <= known, (task.row, task.question, action)


def test_a_subgoal_speaks_of_the_operands_of_its_actions(tasks):
    for task in tasks:
        for step in task.gold["steps"]:
            said = set(NUMBER.findall(step["subgoal"]))
            for action in step["actions"]:
                if action["name"] == "Calculator":
                    operands = set(NUMBER.findall(re.sub(r"R\d+", "", action["arguments"]))) - {"100"}
                    assert operands <= said, (task.row, step)


def test_a_variable_is_used_only_after_it_is_set(tasks):
    for task in tasks:
        known: list[str] = []
        for step in task.gold["steps"]:
            for action in step["actions"]:
                assert set(re.findall(r"R\d+", action["arguments"])) <= set(known), task.row
                known += action["variables"]
        assert known == [f"R{number}" for number in range(1, len(known) + 1)]


def test_the_english_is_sound(tasks):
    for task in tasks:
        texts = [task.question, *(step["subgoal"] for step in task.gold["steps"])]
        for text in texts:
            assert "  " not in text and text == text.strip() and text[-1] in ".?", text
            assert not re.search(r"[\[\]{}|]|\.\.|\?\.| [.,?]|,,|None", text), text
            assert not re.search(r"\b[Aa] [aeioAEIO]", text), text
            assert not re.search(r"\b[Aa]n (?!hour)[^aeiouAEIOU]", text), text
            assert not re.search(
                r"(?<![\d.])1 (?!more\b|of\b|and\b|to\b|on\b|is\b|are\b|fewer\b|left\b)[a-z]+s\b", text
            ), text
        assert task.question.endswith("?")
        for sentence in re.split(r"(?<=[.?]) ", task.question):
            assert sentence[0].isupper(), task.question


def test_nobody_gives_something_to_themselves(tasks):
    for task in tasks:
        assert not re.search(r"\b([A-Z][a-z]+) (?:gave|sold|lent|handed|mailed) [^.]* to \1\b", task.question), (
            task.question
        )


@pytest.mark.long
def test_training_questions_are_distinct():
    questions = [task.question for task in grammar.generate("train", 20_000)]
    assert len(set(questions)) >= 0.97 * len(questions)


def test_questions_of_one_family_differ_in_their_words(tasks):
    words = defaultdict(set)
    for task in tasks:
        words[task.inputs["family"]].update(re.findall(r"[a-z]{3,}", task.question))
    assert min(len(found) for found in words.values()) >= 30


def test_gold_is_hidden_and_json_able(tasks):
    task = tasks[0]
    assert json.loads(json.dumps(task.gold)) == task.gold and json.loads(json.dumps(task.inputs)) == task.inputs
    with pytest.raises(SpecError, match="no_rationale"):
        benchmark.gold(task.without_gold())


def test_gold_comes_as_labelled_subgoals(tasks):
    annotation = benchmark.gold(tasks[0])
    for number, step in enumerate(annotation.steps, start=1):
        assert step.subgoal.number == number
        assert step.subgoal.text.startswith(f"Subgoal {number}: ")
    assert annotation.answer == annotation.steps[-1].results[-1]


def test_score_takes_the_number_and_nothing_else(tasks):
    task = tasks[0]
    answer = task.gold["answer"]
    assert benchmark.score(task, EpisodeResult(answer))[0].value == 1
    assert benchmark.score(task, EpisodeResult(f" {answer}.0 "))[0].value == 1
    assert [benchmark.score(task, EpisodeResult(wrong))[0].value for wrong in (None, "", answer + "1", "nan")] == [
        0,
        0,
        0,
        0,
    ]


def test_rules_without_a_model_solve_few_held_out_problems():
    test = list(generate("test", 300))
    for rule, verdicts in benchmark.baselines(test).items():
        assert len(verdicts) == 300 and sum(verdicts) < 100, rule


def test_plurals_of_irregular_and_compound_nouns():
    assert [plural(noun) for noun in ("loaf of bread", "paper crane", "strawberry", "box", "child", "toy")] == [
        "loaves of bread",
        "paper cranes",
        "strawberries",
        "boxes",
        "children",
        "toys",
    ]


def test_familiar_problems_are_new_problems_of_the_training_families():
    familiar = list(generate("familiar", 300))
    assert {task.inputs["family"] for task in familiar} <= {template.family for template in templates("train")}
    trained = {task.question for task in filled_problems(5_000)}
    assert not trained & {task.question for task in familiar}
