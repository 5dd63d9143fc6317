"""What conversion finds in annotations: results given away, links, lengths, facts, and other numbers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from lumos_queue.benchmarks.base import Benchmark, Reference
from lumos_queue.conversion.check import AnnotationCheck
from lumos_queue.conversion.lengths import conversation_tokens, estimate_tokens
from lumos_queue.conversion.oracle import StatedResults, with_stated_results
from lumos_queue.conversion.perturbation import candidates, passes_perturbation, perturbation, replace_literals
from lumos_queue.conversion.teacher import OFFERED, escape_markers, next_prompt, prompt_head, read_reply
from lumos_queue.conversion.verdicts import (
    VERDICTS,
    list_accepting_modules,
    make_verdicts,
    merge_verdicts,
)
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.errors import SpecError
from lumos_queue.notation import read_annotation
from lumos_queue.rationales.comparison import matches_stated
from lumos_queue.rationales.maths.doubtful_links import ambiguous_operands
from lumos_queue.rationales.maths.readings import readings
from lumos_queue.rationales.maths.stated_results import results_stated
from lumos_queue.records import Action, Completion, Execution, Task
from tests.strictly_stated import states_strictly


def steps(text: str):
    found, issues = read_annotation(text)
    assert not issues
    return found


def step(subgoal: str, *actions: str):
    lines = [f"Action 1-{number}: {action}" for number, action in enumerate(actions, start=1)]
    return steps("\n".join([f"Subgoal 1: {subgoal}", *lines]))[0]


@pytest.mark.parametrize(
    ("subgoal", "action", "given_away"),
    [
        ("Add 2 and 3 to get 5.", "R1 = Calculator(2 + 3) = 5", ["5"]),
        ("Add 2 and 3 to get five.", "R1 = Calculator(2 + 3) = 5", ["5"]),
        ("Add 2 and 3.", "R1 = Calculator(2 + 3) = 5", []),
        ("Multiply 5 by 1.", "R1 = Calculator(5 * 1) = 5", []),
        ("Add the result of Subgoal 5 and 3.", "R6 = Calculator(R5 + 3) = 5", []),
        ("Take result 5 of Subgoal 2.", "R6 = Calculator(R5 * R4) = 5", []),
        ("Find how much one gets, which is 0.5.", "R1 = Calculator(1 / 2) = 0.5", ["0.5"]),
        ("Find what one gets.", "R1 = Calculator(2 - R3) = 1", []),
        ("Divide to get 3/5 of it.", "R1 = Calculator(R2 / R3) = 3/5", ["3/5"]),
        ("Find who wrote it, Ann Lee.", "R1 = QA([R2], Question: Who wrote it?) = Ann Lee. ", ["Ann Lee"]),
        ("Find who wrote it.", "R1 = QA([R2], Question: Who wrote it?) = Ann Lee", []),
        ("Is the tower taller than the bridge?", "R1 = QA([R2], Question: Which is taller?) = the tower", []),
        ("Decide whether there is no such thing.", "R1 = QA([R2], Question: Is there?) = no", []),
    ],
)
def test_a_subgoal_that_states_its_result_is_found(subgoal, action, given_away):
    assert results_stated(step(subgoal, action), "Is the tower or the bridge taller?") == given_away


def test_the_strictest_reading_exempts_no_operand():
    assert states_strictly(step("Multiply 5 by 1.", "R1 = Calculator(5 * 1) = 5"))
    assert not states_strictly(step("Add the result of Subgoal 5 and 3.", "R6 = Calculator(R5 + 3) = 5"))


@pytest.mark.parametrize(
    ("result", "kind", "stated", "expected"),
    [
        ("12", "number", "12.0", True),
        ("10/3", "number", "3.33", True),
        ("10/3", "number", "3.34", False),
        ("12", "number", "13", False),
        ("2, 1", "list", "2, 1", True),
        ("2, 1", "list", "1, 2", False),
        ("x+3 = 5", "equation", "x + 3 = 5", True),
        ("x+3 = 5", "equation", "3 + x = 5", None),
        ("330 metres.", "text", "330 metres. ", True),
    ],
)
def test_results_are_compared_as_far_as_they_are_written(result, kind, stated, expected):
    assert matches_stated(Execution("ok", result, ({"kind": kind, "text": result},)), stated) is expected


def test_operands_that_may_be_other_values_are_noted():
    found = steps(
        "Subgoal 1: A.\nAction 1-1: R1 = Calculator(2 + 3) = 5\n\n"
        "Subgoal 2: B.\nAction 2-1: R2 = Calculator(1 + 4) = 5\n"
        "Action 2-2: R3 = Calculator(R1 * 7) = 35\nAction 2-3: R4 = Calculator(35 - 1) = 34"
    )
    assert ambiguous_operands(found, "2, 3, 1, 4 and 7?") == ["R1", "35"]
    assert ambiguous_operands(found[:1], "2, 3 and 5?") == []


def test_lengths_are_those_of_both_conversations():
    assert estimate_tokens("Calculating 123, 4!") == 9
    short = conversation_tokens(
        "How many?", "maths", steps("Subgoal 1: A.\nAction 1-1: R1 = Calculator(2 + 3) = 5"), estimate_tokens
    )
    long = conversation_tokens(
        "How many?", "maths", steps("Subgoal 1: A.\nAction 1-1: R1 = Count(" + "a, " * 99 + "a) = 9"), estimate_tokens
    )
    assert long["planner"] == short["planner"] < short["grounder"] < long["grounder"]


def test_every_plausible_reading_of_marks_is_a_program():
    def formulas(question, solution):
        return {tuple(action.arguments for action in program) for program in readings(question, solution)}

    assert formulas("36 and 3", "<<36/3=12>>\n<<36+12=48>>") == {("36 / 3", "36 + R1")}
    assert formulas("2, 3 and 7", "<<2+3=5>>\n<<1+4=5>>\n<<5*5=25>>") == {
        ("2 + 3", "1 + 4", "R1 * R2"),
        ("2 + 3", "1 + 4", "R2 * R1"),
    }
    # Where a result would stay without use, the number of the question is not meant; where none would, both may be.
    assert formulas("2, 3 and 5", "<<2+3=5>>\n<<5*4=20>>") == {("2 + 3", "R1 * 4")}
    assert formulas("2, 3 and 5", "<<2+3=5>>\n<<5*5=25>>") == {
        ("2 + 3", "R1 * R1"),
        ("2 + 3", "R1 * 5"),
        ("2 + 3", "5 * R1"),
    }
    assert formulas("8 and 4", "<<8/4=2>>\n<<4/2=2>>") == {("8 / 4", "4 / R1")}
    assert formulas("?", "<<x+1=2>>") == set() == formulas("?", "<<1/0=2>>")


class Sums(Benchmark):
    """A source for tests: its gold program stands in the task."""

    name, domain, teacher_prompt, licence, check_level = "sums", "maths", "maths", "MIT", "executed"

    def reference(self, task: Task) -> Reference | None:
        return Reference(tuple(program(*formulas) for formulas in task.gold["programs"]))


class Facts(Benchmark):
    name, domain, teacher_prompt, licence, check_level = "facts", "complex_qa", "qa", "MIT", "oracle_tool"

    def facts(self, task: Task) -> str:
        return task.gold["facts"]


def program(*formulas: str) -> tuple[Action, ...]:
    return tuple(Action((f"R{k}",), *formula.rstrip(")").split("(", 1)) for k, formula in enumerate(formulas, start=1))


def check(question: str, programs: Sequence[Sequence[str]], *formulas: str):
    task = Task("sums", "d", "1", question, gold={"programs": programs})

    async def run():
        interface = DOMAINS.load("maths").open_actions()
        try:
            return await perturbation(Sums(), task, program(*formulas), interface)
        finally:
            await interface.close()

    return asyncio.run(run())


def test_a_wrong_link_of_equal_value_is_caught_by_other_numbers():
    question, gold = (
        "Ida has 2 red and 3 blue boxes, and 5 bags. Each box holds 4.",
        ["Calculator(2 + 3)", "Calculator(R1 * 4)"],
    )
    assert check(question, [gold], *gold).passed
    wrong = check(question, [gold], "Calculator(2 + 3)", "Calculator(5 * 4)")
    assert not wrong.passed and wrong.differs.startswith("gives ")
    # Where the source itself does not say which is meant, nothing is known, and nothing is said.
    either = check(question, [gold, ["Calculator(2 + 3)", "Calculator(5 * 4)"]], *gold)
    assert (either.passed, either.differs) == (False, "")


def test_equations_and_percentages_are_changed_too():
    gold = ["Calculator(12 - 4)", "Calculator(R1 * 3)"]
    equation = ["Define(x)", "SetEquation(x / 3 = 12 - 4)", "SolveEquation(R2)"]
    assert check("Of 12 boxes 4 are empty, the others hold 3 each.", [gold], *equation).passed
    rate = ["Calculator(200 * 25 / 100)"]
    assert check("A coat of $200 is 25% off. How much is that?", [rate], "Calculator(200 * 0.25)").passed
    assert not check("A coat of $200 is 25% off. How much is that?", [rate], "Calculator(200 / 4)").passed


def test_changes_make_sense_and_are_the_same_each_time():
    task = Task("sums", "d", "1", "7 apples in 2 bags of 1.5 kg")
    found = [dict(change) for change in candidates(task)]
    assert found == [dict(change) for change in candidates(task)]
    for change in found:
        assert all(old != new and new > 0 for old, new in change.items())
        assert all(new.denominator == 1 for old, new in change.items() if old.denominator == 1)
    assert replace_literals("R7 + 7 * 7.5 - x^7", dict.fromkeys([7], 9)) == "R7 + 9 * 7.5 - x^7"  # type: ignore[arg-type]


def test_an_action_list_of_a_successful_episode_can_be_checked():
    task = Task("sums", "d", "1", "2 and 3", gold={"programs": [["Calculator(2 + 3)"]]})

    async def run():
        interface = DOMAINS.load("maths").open_actions()
        try:
            return [
                await passes_perturbation(Sums(), task, program(one), interface)
                for one in ("Calculator(3 + 2)", "Calculator(2 * 2 + 1)", "Calculator(2 +)")
            ]
        finally:
            await interface.close()

    assert asyncio.run(run()) == [True, False, False]


def judge_reply(source: Benchmark, task: Task, reply: str):
    check = AnnotationCheck(source, task, 1024, estimate_tokens)
    acted = check.read(Completion(reply, "stop"))

    async def run():
        oracle, seen = StatedResults(source.domain), []
        for one in acted:
            for action, result in zip(one.actions, one.results, strict=True):
                seen.append((action, result, await oracle.execute(action, {})))
        return seen

    return check.judge(asyncio.run(run())), check


PLAN = (
    "Subgoal 1: Find the height of the tower.\nAction 1-1: R1 = KnowledgeQuery(Tower) = WikipediaPage(Tower). \n"
    "Action 1-2: R2 = QA([R1], Question: How tall is it?) = {height}. \n\n"
    "Subgoal 2: Decide whether it is tall.\nAction 2-1: R3 = QA([R2], Question: Is it tall?) = yes. "
)


def test_what_a_teacher_extracts_must_stand_in_the_facts():
    task = Task(
        "facts", "d", "1", "Is the tower tall?", gold={"answer": "yes", "facts": "The Tower is 330\nmetres tall."}
    )
    outcome, check = judge_reply(Facts(), task, PLAN.format(height="330 metres"))
    assert (outcome.ending, outcome.answer, check.verdicts, check.compute_level()) == (
        "answered",
        "yes. ".strip(),
        [],
        "oracle_tool",
    )
    _, check = judge_reply(Facts(), task, PLAN.format(height="331 metres"))
    assert {one.name for one in check.verdicts} == {"result not in facts"} and check.compute_level() == ""


def test_an_oracle_answers_also_an_action_that_could_not_be_run():
    task = Task("facts", "d", "1", "Is the tower tall?", gold={"answer": "yes", "facts": ""})
    outcome, check = judge_reply(Facts(), task, PLAN.format(height="330").replace("[R2]", "[R2, R7]"))
    assert outcome.ending == "answered"
    assert list_accepting_modules(check.verdicts) == ("planner",)
    assert [one.name for one in check.verdicts] == ["undefined reference"]


@pytest.mark.parametrize(
    "reply", ["", "I'm sorry, I can't do that.", "Invalid Request: Prompt was filtered", "As an AI, no."]
)
def test_refusals_are_recognised(reply):
    assert {one.name for one in read_reply(Completion(reply, "stop"), True).verdicts} == {"refused"}


@pytest.mark.parametrize("reply", ["The answer is 5.", "Subgoal 1: I cannot see it.\nAction 1-1: R1 = Define(x)"])
def test_other_replies_are_not(reply):
    assert "refused" not in {one.name for one in read_reply(Completion(reply, "stop"), True).verdicts}


def test_code_fences_are_passed_over():
    text = "```\nSubgoal 1: A.\nAction 1-1: R1 = Calculator(2 + 3) = 5\n```"
    assert read_reply(Completion(text, "stop"), True).verdicts == ()


def test_a_text_cannot_open_a_turn():
    assert escape_markers("<|user|> and </s>") == "<| user |> and < /s>"
    again = next_prompt("<|user|>\nQ\n<|assistant|>\n", "A\n<|user|>\nB", make_verdicts("refused"))
    assert again.count("<|user|>") == 2 and again.endswith("<|assistant|>\n")


@pytest.mark.parametrize("prompt", OFFERED)
@pytest.mark.parametrize("subgoals", ["high", "low"])
def test_each_prompt_begins_alike_and_shows_its_examples(prompt, subgoals):
    text = prompt_head(prompt, subgoals)
    assert text.startswith("<|system|>\n") and text.endswith("\n\nTask: ")
    assert text.count("Example ") >= 4 and text.count("<|user|>") == 1
    assert OFFERED[prompt] in text
    assert ("exactly one action" in text) == (subgoals == "low")


def test_an_unknown_prompt_is_named():
    with pytest.raises(SpecError, match="No kind of subgoals called 'middle'"):
        prompt_head("maths", "middle")


def test_verdicts_of_one_name_are_one_row():
    found = merge_verdicts(
        [
            *make_verdicts("empty result", "R1"),
            *make_verdicts("empty result", "R2"),
            *make_verdicts("empty result", "R1"),
        ]
    )
    assert [(one.module, one.detail) for one in found] == [("planner", "R1; R2"), ("grounder", "R1; R2")]
    assert list_accepting_modules(make_verdicts("duplicate")) == ("planner", "grounder")
    assert all(modules for modules, _ in VERDICTS.values())


def test_a_step_carries_its_results_for_the_oracle():
    one = with_stated_results(step("A.", "R1, R2 = SolveEquation(x + y = 3, x - y = 1) = 2, 1"))
    done = asyncio.run(StatedResults("maths").execute(one.actions[0], {}))
    assert (done.result, [value["text"] for value in done.values]) == ("2, 1", ["2", "1"])
