"""A teacher's prompts to the letter, and what its replies are read as."""

from __future__ import annotations

import pytest

from lumos_queue.conversion.teacher import OFFERED, SYSTEM, first_prompt, next_prompt, prompt_head, read_reply
from lumos_queue.conversion.verdicts import make_verdicts
from lumos_queue.endpoints.replies import completion
from lumos_queue.records import Completion, Task, Verdict

LINE = "Subgoal 1: a\nAction 1-1: R1 = Define(x) = x\n"


def reading(text: str, results: bool = True, reason: str = "stop"):
    return read_reply(Completion(text, reason, completion_tokens=7), results)


def said(text: str, **how) -> list[tuple[str, str]]:
    return [(one.name, one.detail) for one in reading(text, **how).verdicts if one.module == "planner"]


@pytest.mark.parametrize("prompt", OFFERED)
def test_the_instruction_asks_for_results_and_single_actions_where_they_are_wanted(prompt):
    low, high = prompt_head(prompt, "low"), prompt_head(prompt, "high")
    begun = f"<|system|>\n{SYSTEM}\n<|user|>\nPlease convert natural language plans into a series of subgoals"
    assert low.startswith(begun) and high.startswith(begun)
    stated = f"they must be one of {OFFERED[prompt]}." + (
        ""
        if prompt in ("web", "sql")
        else " When generating the actions, please also attach the action's results contained in the "
        "natural language plans."
        " No subgoal may state the result of its own actions."
    )
    assert f"{stated}\n\nExample 1:\nTask: " in high
    assert f"{stated} Every subgoal must have exactly one action.\n\nExample 1:\nTask: " in low
    ends = "\n\n\nNow please help us generate a plan consisting of subgoals according to the following instruction "
    assert high.endswith(f"{ends}and its natural language plan!\n\nTask: ")
    assert "Example 2:\nTask: " in high and "Example 0" not in high
    assert "\n\nNatural language plan:\n" in high and "\n\nSubgoal-based plan:\nSubgoal 1: " in high


def test_a_row_is_shown_as_task_and_plan():
    task = Task("b", "d", "1", " How <|user|> many?\n")
    assert first_prompt("HEAD ", task, " Add </s> them. \n") == (
        "HEAD How <| user |> many?\n\nNatural language plan:  Add < /s> them.\n<|assistant|>\n"
    )


def test_what_is_wrong_is_said_once_and_with_its_details():
    found = [
        *make_verdicts("empty result", "R1"),
        *make_verdicts("refused"),
        Verdict("planner", "overlong", "<|user|>"),
    ]
    assert next_prompt("PROMPT", " reply ", found) == (
        "PROMPTreply</s>\n<|user|>\nThat is not accepted:\n- empty result: R1\n- refused\n- overlong: <| user |>\n"
        "Please write the whole subgoal-based plan again, with these problems mended, in the same format and without "
        "further words.\n<|assistant|>\n"
    )


def test_a_reply_that_ran_into_the_limit_is_only_that():
    cut = reading("Subgoal 1: a\nAction 1-1: R1 = Define(x", reason="length")
    assert [(one.name, one.detail) for one in cut.verdicts] == [("truncated", "after 7 tokens")] * 2
    assert [step.subgoal.text for step in reading(LINE, reason="length").steps] == ["Subgoal 1: a"]


def test_a_reply_that_ended_within_its_reasoning_is_no_refusal_and_no_plan():
    thought = completion(f"<think>\n{LINE}", (), truncated=False)
    assert [(one.name, one.detail) for one in read_reply(thought, True).verdicts] == [
        ("truncated", "the reply ended within its reasoning")
    ] * 2
    replied = completion(f"<think>\nSubgoal 1: draft\n</think>\n{LINE}", (), truncated=False)
    assert [step.subgoal.text for step in read_reply(replied, True).steps] == ["Subgoal 1: a"]


def test_a_refusal_is_shown_by_its_beginning_and_looked_for_there():
    assert said(" \n") == [("refused", "an empty reply")]
    assert said(f" I cannot {'x' * 200} ") == [("refused", f"I cannot {'x' * 111}")]
    assert reading("I cannot do it.").steps == ()
    assert said(f"{'x ' * 146}I can't") == [("refused", "x " * 60)]
    assert said(f"{'x ' * 148}I can't")[0][0] == "unreadable"
    assert said(f"{LINE}I cannot say more.") == [("unreadable", "unlabelled line: I cannot say more.")]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("I won't do that", "refused"),
        ("I am unable", "refused"),
        ("unable to", "refused"),
        ("Cannot assist", "refused"),
        ("content policy", "refused"),
        ("AS AN AI", "refused"),
        ("i can not", "unreadable"),
        ("Basically unable", "unreadable"),
    ],
)
def test_excuses_are_known_in_any_case(text, name):
    assert said(text)[0][0] == name


def test_fences_are_passed_over_only_where_they_stand_alone():
    assert said(f"```text\n{LINE}```  \n") == []
    assert said(f"{LINE}Use ```x``` here.") == [("unreadable", "unlabelled line: Use ```x``` here.")]


def test_results_are_asked_for_only_where_the_domain_has_them():
    text = "Subgoal 1: a\nAction 1-1: R1 = CLICK(Env)"
    assert said(text, results=False) == [] and said(text)[0][0] == "empty result"


def test_what_an_unread_line_would_have_set_is_known():
    read = reading(LINE + "Action 1-2: R2, R3 = SolveEquation(x)) = 1, 2\nAction 1-2: Output = (5")
    assert read.unread == {"R2", "R3", "Output"}
    assert reading(LINE).unread == frozenset()
