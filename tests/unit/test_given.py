"""Replies that a task brings along: given at their places, whatever was recorded before, and the model goes on."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from lumos_queue.commands import Ask
from lumos_queue.endpoints.scripted import Scripted
from lumos_queue.episode import run_episode
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.execution.prefill import PrefilledReplies, bare, same_subgoal, source_row
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.jobs.base import Work
from lumos_queue.jobs.infer import Infer, InferContext
from lumos_queue.limits import Limits
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Completion, FinishReason, Outcome, Task
from tests.unit.test_episode import REPLIES, TASK, executor

ONE_PASS = {
    "planner": ["Subgoal 1: boxes.; Subgoal 2: loss."],
    "grounder": ["R1 = Calculator(12 * 3); R2 = Calculator(R1 - 5)"],
}
PLACES = [(planned, grounded) for planned in range(4) for grounded in range(3)]


def run(inputs, planner, grounder, journal=None, name="iterative"):
    """The outcome, the journal, and what each model was asked."""
    journal, made = journal or MemoryJournal(), executor(planner, grounder)
    infer = Infer("b", "digest", "test", name, Agent(roles={}, domain="maths"))
    work = Work(0, 0, replace(TASK, inputs=inputs))
    outcome = asyncio.run(infer.run(work, journal, InferContext(made, (), {}))).outcome
    asked = {role: one.prompts for role, one in made.endpoints.items() if isinstance(one, Scripted)}
    return outcome, journal, asked


def calls(journal) -> list[tuple[str, str, str]]:
    return [
        (step.command.role, step.result.text, step.result.finish_reason)
        for step in journal.steps
        if isinstance(step.command, Ask)
    ]


@pytest.mark.parametrize(("planned", "grounded"), PLACES)
def test_the_first_replies_are_given_and_the_model_makes_the_others(planned, grounded):
    given = {"planner": REPLIES["planner"][:planned], "grounder": REPLIES["grounder"][:grounded]}
    outcome, journal, asked = run({"given": given}, REPLIES["planner"][planned:], REPLIES["grounder"][grounded:])
    assert outcome == Outcome("31", "answered")
    assert {role: len(prompts) for role, prompts in asked.items()} == {"planner": 3 - planned, "grounder": 2 - grounded}
    made = calls(journal)
    assert [text for role, text, _ in made if role == "planner"] == REPLIES["planner"]
    assert [reason == FinishReason.GIVEN for role, _, reason in made if role == "planner"] == [
        n < planned for n in range(3)
    ]
    assert [reason == FinishReason.GIVEN for role, _, reason in made if role == "grounder"] == [
        n < grounded for n in range(2)
    ]


@pytest.mark.parametrize(("planned", "grounded"), [(1, 1), (2, 1), (0, 2), (3, 0)])
def test_a_resumed_episode_gives_the_same_replies_at_the_same_places(planned, grounded):
    inputs = {"given": {"planner": REPLIES["planner"][:planned], "grounder": REPLIES["grounder"][:grounded]}}
    _, whole, _ = run(inputs, REPLIES["planner"][planned:], REPLIES["grounder"][grounded:])
    for done in range(len(whole.steps) + 1):
        known = whole.steps[:done]
        made = [(role, reason) for role, _, reason in calls(MemoryJournal(known)) if reason != FinishReason.GIVEN]
        left = {
            role: REPLIES[role][number + sum(one == role for one, _ in made) :]
            for role, number in (("planner", planned), ("grounder", grounded))
        }
        outcome, again, asked = run(inputs, left["planner"], left["grounder"], MemoryJournal(known))
        assert outcome == Outcome("31", "answered")
        assert calls(again) == calls(whole)
        assert sum(map(len, asked.values())) == 5 - planned - grounded - len(made)


@pytest.mark.parametrize("role", ["planner", "grounder"])
def test_one_pass_takes_the_whole_plan_or_the_whole_grounding(role):
    other = "grounder" if role == "planner" else "planner"
    scripts = {role: [], other: ONE_PASS[other]}
    outcome, _, asked = run({"given": {role: ONE_PASS[role]}}, scripts["planner"], scripts["grounder"], name="one-pass")
    assert outcome == Outcome("31", "answered")
    assert (len(asked[role]), len(asked[other])) == (0, 1)


def test_a_given_reply_costs_nothing_and_is_told_from_a_model_s():
    _, journal, _ = run({"given": {"planner": REPLIES["planner"][:1]}}, REPLIES["planner"][1:], REPLIES["grounder"])
    assert journal.steps[0].result == Completion(REPLIES["planner"][0], FinishReason.GIVEN)


def test_a_gold_grounding_is_not_given_to_another_subgoal_nor_after_it():
    inputs = {"given": {"grounder": REPLIES["grounder"]}, "given_while": ["Subgoal 1: BOXES", "Subgoal 2: another"]}
    outcome, journal, _ = run(inputs, REPLIES["planner"], ["R2 = Calculator(R1 - 6)"])
    assert outcome == Outcome("30", "answered")
    assert [reason for role, _, reason in calls(journal) if role == "grounder"][:1] == [FinishReason.GIVEN]
    inputs["given_while"] = ["Subgoal 1: another", "Subgoal 2: loss."]
    outcome, journal, asked = run(inputs, REPLIES["planner"], ["R1 = Calculator(10)", "R2 = Calculator(R1 - 6)"])
    assert outcome == Outcome("4", "answered") and len(asked["grounder"]) == 2
    inputs["given_while"] = ["Subgoal 1: boxes."]  # a plan that goes on beyond the gold one
    outcome, _, asked = run(inputs, REPLIES["planner"], ["R2 = Calculator(R1 - 6)"])
    assert outcome == Outcome("30", "answered") and len(asked["grounder"]) == 1


def test_a_task_without_given_replies_runs_as_before():
    outcome, journal, asked = run({}, REPLIES["planner"], REPLIES["grounder"])
    assert outcome == Outcome("31", "answered")
    assert {role: len(prompts) for role, prompts in asked.items()} == {"planner": 3, "grounder": 2}
    assert all(reason == "stop" for _, _, reason in calls(journal))


def test_commands_of_a_list_are_given_replies_in_its_order():
    given = PrefilledReplies({"given": {"solver": ["one", "two"]}})

    def three(task, agent):
        replies = yield [Ask("solver", "?") for _ in range(3)]
        return Outcome(" ".join(reply.text for reply in replies), "answered")

    async def perform(command, place):
        return Completion(f"asked at {place.branch}", "stop")

    run = run_episode(given.watch(three), TASK, Agent({}, "maths"), MemoryJournal(), given.prefill(perform))
    assert asyncio.run(run).outcome == Outcome("one two asked at 2", "answered")


def test_watching_changes_no_command_and_no_outcome():
    plain, watched = FORMULATIONS.load("one-pass"), PrefilledReplies({"given": {}}).watch(FORMULATIONS.load("one-pass"))
    agent = Agent(roles={}, domain="maths")
    one, other = plain(TASK, agent), watched(TASK, agent)
    assert next(one) == next(other)
    assert one.send(Completion("Subgoal 1: a.", "stop")) == other.send(Completion("Subgoal 1: a.", "stop"))
    one.close(), other.close()


def test_subgoals_are_the_same_but_for_label_capitals_spaces_and_full_stop():
    assert same_subgoal("Subgoal 2: Add the  two numbers.", "add the two numbers")
    assert not same_subgoal("Subgoal 2: Add 2 and 3.", "Subgoal 2: Add 2 and 4.")
    assert bare(" Subgoal 2: Two  Words . ") == bare("two words") == "two words"


def test_a_derived_task_names_the_row_it_comes_from():
    assert source_row(TASK) == "1"
    assert source_row(Task("b", "d", "1@k3f9a2cd-17:2", "", {"from": {"row": "1", "episode": "k3f9a2cd-17"}})) == "1"


@pytest.mark.parametrize("given", range(5))
def test_given_replies_count_as_calls_so_that_an_episode_ends_where_the_whole_one_would(given):
    """Four calls are allowed, the fifth is the planner's third: whoever has made those before it."""
    planned, grounded = (given + 1) // 2, given // 2
    inputs = {"given": {"planner": REPLIES["planner"][:planned], "grounder": REPLIES["grounder"][:grounded]}}
    limits = Limits(calls=4)
    made = executor(REPLIES["planner"][planned:], REPLIES["grounder"][grounded:])
    infer = Infer("b", "digest", "test", "iterative", Agent(roles={}, domain="maths", limits=limits))
    journal = MemoryJournal()
    work = Work(0, 0, replace(TASK, inputs=inputs))
    outcome = asyncio.run(infer.run(work, journal, InferContext(made, (), {}))).outcome
    assert (outcome.ending, outcome.message) == ("limit", "the limit of 4 model calls is reached")
    assert len(calls(journal)) == 4 and sum(reason == FinishReason.GIVEN for *_, reason in calls(journal)) == given
