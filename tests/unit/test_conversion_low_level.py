"""One wording for every source, balanced by steps, within a number of tokens."""

from __future__ import annotations

from collections import Counter

import pytest

from lumos_queue.benchmarks.wordmath.benchmark import benchmark as wordmath
from lumos_queue.benchmarks.wordmath.grammar import generate
from lumos_queue.conversion.low_level import to_low_level
from lumos_queue.errors import SpecError
from lumos_queue.records import Action, AnnotatedSubgoal, Annotation, Subgoal, Task
from lumos_queue.training.starter.data import StarterData
from lumos_queue.training.starter.selection import STEP_SHARES, low_level_problems, select_conversations


def annotation(*arguments: str, answer: str, name: str = "Calculator") -> Annotation:
    """One subgoal with an action for each of the arguments; results are not looked at."""
    actions = tuple(Action((f"R{number}",), name, text) for number, text in enumerate(arguments, 1))
    return Annotation((AnnotatedSubgoal(Subgoal(1, "Subgoal 1: All."), actions, ("?",) * len(actions)),), answer)


def steps_of(short: Annotation) -> list[tuple[str, str, str]]:
    return [(step.subgoal.text, step.actions[0].raw, step.results[0]) for step in short.steps]


@pytest.mark.parametrize(
    ("arguments", "answer", "text", "action"),
    [
        ("8 + 50", "58", "Add 8 and 50.", "8 + 50"),
        ("8 + 50 + 2", "60", "Add 8, 50 and 2.", "8 + 50 + 2"),
        ("15 - 5", "10", "Subtract 5 from 15.", "15 - 5"),
        ("3 * 4", "12", "Multiply 3 by 4.", "3 * 4"),
        ("3840 / 48", "80", "Divide 3840 by 48.", "3840 / 48"),
        ("7 / 2", "3.5", "Divide 7 by 2.", "7 / 2"),
    ],
)
def test_an_operation_has_one_form(arguments, answer, text, action):
    assert steps_of(to_low_level(annotation(arguments, answer=answer))) == [
        (f"Subgoal 1: {text}", f"R1 = Calculator({action})", answer)
    ]


def test_several_operations_become_several_subgoals_and_variables_follow():
    short = to_low_level(annotation("(8 - 3) * 2", "R1 + R1 / 5", answer="12"))
    assert steps_of(short) == [
        ("Subgoal 1: Subtract 3 from 8.", "R1 = Calculator(8 - 3)", "5"),
        ("Subgoal 2: Multiply the result of Subgoal 1 by 2.", "R2 = Calculator(R1 * 2)", "10"),
        ("Subgoal 3: Divide the result of Subgoal 2 by 5.", "R3 = Calculator(R2 / 5)", "2"),
        ("Subgoal 4: Add the result of Subgoal 2 and the result of Subgoal 3.", "R4 = Calculator(R2 + R3)", "12"),
    ]


def test_a_step_that_the_answer_does_not_need_is_left_out():
    short = to_low_level(annotation("10 + 10", "60 * 4", "R2 - 40", answer="200"))
    assert [raw for _, raw, _ in steps_of(short)] == ["R1 = Calculator(60 * 4)", "R2 = Calculator(R1 - 40)"]


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (annotation("x = 2", answer="2", name="SetEquation"), "has SetEquation"),
        (annotation("2 ** 3", answer="8"), "is no arithmetic"),
        (annotation("R2 + 1", answer="2"), "not there yet"),
        (annotation("1 / 3", answer="0.33"), "no short decimals"),
        (annotation("3 - 8", answer="-5"), "negative"),
        (annotation("2 + 2", answer="5"), "another answer"),
        (annotation("7", answer="7"), "another answer"),
        (annotation("1 + 2 + 3 + 4 + 5", answer="15"), "too many numbers"),
    ],
)
def test_what_cannot_be_said_shortly_is_counted_by_its_reason(made, reason):
    with pytest.raises(SpecError, match=reason):
        to_low_level(made)


@pytest.mark.long
def test_every_source_is_worded_alike_and_gives_its_answer(shared_data):
    sources = StarterData(shared_data, generated=300, variants=1)
    counts: Counter[str] = Counter()
    problems = low_level_problems(sources.problems(), counts)
    verbs = Counter()
    for task, short in problems:
        assert short.steps[-1].results[0] == short.answer
        for step in short.steps:
            verbs[task.benchmark, step.subgoal.text.split()[2]] += 1
    assert {verb for _, verb in verbs} == {"Add", "Subtract", "Multiply", "Divide"}
    assert {source for source, _ in verbs} == {"wordmath", "mawps", "gsm8k"}
    assert len({task.question for task, _ in problems}) == len(problems) > 6000


@pytest.fixture(scope="module")
def problems():
    return low_level_problems(((task, wordmath.gold(task)) for task in generate("train", 1500)), Counter())


def test_the_selection_is_balanced_within_its_budget_and_the_same_each_time(problems):
    def select(budget: int, seed: int = 0):
        counts: Counter[str] = Counter()
        return select_conversations(problems, "iterative", budget, len, seed, counts), counts

    chosen, counts = select(150_000)
    size = sum(len(one.text()) for one in chosen)
    assert 145_000 < size <= 150_000
    by_steps = {steps: counts[f"iterative, wordmath, {steps} steps: problems"] for steps in STEP_SHARES}
    for steps, share in STEP_SHARES.items():
        assert by_steps[steps] / sum(by_steps.values()) == pytest.approx(share, abs=0.02)
    roles = Counter(one.dataset.rsplit("/")[-1] for one in chosen)
    assert 0.2 < roles["grounder"] / roles["planner"] < 0.4
    assert select(150_000)[0] == chosen != select(150_000, seed=1)[0]


def test_a_source_that_ends_leaves_room_for_the_others(problems):
    other = [(Task("other", "", "1", "Two and two?"), annotation("2 + 2", answer="4"))]
    counts: Counter[str] = Counter()
    select_conversations(problems + low_level_problems(other, counts), "iterative", 100_000, len, 0, counts)
    assert counts["iterative, other, 1 steps: problems"] == 1
    assert counts["iterative, wordmath, 1 steps: problems"] > 20
