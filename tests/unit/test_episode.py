"""Replay is resume: what the journal holds is fed back, what is new is performed."""

from __future__ import annotations

import asyncio

import pytest

from lumos_queue.commands import Ask, Do, Step
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.endpoints.base import Sampling
from lumos_queue.endpoints.scripted import Scripted
from lumos_queue.episode import Diverged, StepContext, run_episode
from lumos_queue.errors import EpisodeError, InfrastructureError
from lumos_queue.execution.executor import Executor, derive_seed
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.formulations.iterative import iterative
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Completion, Execution, Outcome, Task

TASK = Task("b", "digest", "1", "Ann has 12 boxes of 3 pens and loses 5. How many are left?")
AGENT = Agent(roles={}, domain="maths")
REPLIES = {
    "planner": ["Subgoal 1: boxes.", "No, I will keep planning. Subgoal 2: loss.", "Yes, I will stop planning."],
    "grounder": ["R1 = Calculator(12 * 3)", "R2 = Calculator(R1 - 5)"],
}


def executor(planner, grounder) -> Executor:
    endpoints = {"planner": Scripted(planner), "grounder": Scripted(grounder)}
    return Executor(endpoints, DOMAINS.load("maths").open_actions(), Sampling(), 0)


def run(journal, scripts, formulation=iterative):
    made = executor(scripts["planner"], scripts["grounder"])

    async def go():
        async with made.for_episode(TASK, 0) as perform:
            return (await run_episode(formulation, TASK, AGENT, journal, perform)).outcome

    return asyncio.run(go())


def test_an_interrupted_episode_goes_on_from_every_step_without_repeating_a_call():
    whole = MemoryJournal()
    assert run(whole, REPLIES) == Outcome("31", "answered")
    for done in range(len(whole.steps) + 1):
        known = whole.steps[:done]
        asked = [step.command.role for step in known if isinstance(step.command, Ask)]
        left = {role: replies[asked.count(role) :] for role, replies in REPLIES.items()}
        journal = MemoryJournal(known)
        assert run(journal, left) == Outcome("31", "answered")
        assert [(step.command, _timeless(step.result)) for step in journal.steps] == [
            (step.command, _timeless(step.result)) for step in whole.steps
        ]


def _timeless(result):
    return (result.text if isinstance(result, Completion) else result.values) if result else None


def test_variables_come_back_from_the_record_not_from_running_again():
    whole = MemoryJournal()
    run(whole, REPLIES)
    known = [
        Step(step.position, step.branch, step.command, Execution("ok", "100", ({"kind": "number", "text": "100"},)))
        if isinstance(step.command, Do) and step.command.action.variables == ("R1",)
        else step
        for step in whole.steps[:4]
    ]
    left = {
        "planner": ["No, I will keep planning. Subgoal 2: loss.", "Yes, I will stop planning."],
        "grounder": ["R2 = Calculator(R1 - 5)"],
    }
    assert run(MemoryJournal(known), left).answer == "95"


def test_a_journal_of_other_code_is_not_replayed():
    journal = MemoryJournal([Step(0, 0, Ask("planner", "another prompt"), Completion("x", "stop"))])
    with pytest.raises(Diverged):
        run(journal, REPLIES)


def test_an_infrastructure_error_leaves_what_was_recorded():
    journal = MemoryJournal()

    def broken(prompt):
        raise InfrastructureError("the endpoint is gone")

    with pytest.raises(InfrastructureError):
        run(journal, {"planner": ["Subgoal 1: boxes."], "grounder": broken})
    assert [step.position for step in journal.steps] == [0, 1]


def test_an_episode_error_ends_the_episode_with_its_name():
    def refuses(prompt):
        raise EpisodeError("infra_error", "400 prompt too long")

    outcome = run(MemoryJournal(), {"planner": refuses, "grounder": []})
    assert outcome == Outcome(None, "infra_error", "400 prompt too long")


def test_a_list_of_commands_runs_at_the_same_time_and_answers_in_order():
    running, most = 0, 0

    async def perform(command, place):
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01 * (3 - place.branch))
        running -= 1
        return Completion(f"{place.position}.{place.branch}", "stop")

    def formulation(task, agent):
        replies = yield [Ask("planner", str(number)) for number in range(3)]
        return Outcome(" ".join(reply.text for reply in replies), "answered")

    journal = MemoryJournal()
    outcome = asyncio.run(run_episode(formulation, TASK, AGENT, journal, perform)).outcome
    assert outcome.answer == "0.0 0.1 0.2"
    assert most == 3
    assert sorted((step.position, step.branch) for step in journal.steps) == [(0, 0), (0, 1), (0, 2)]


def test_random_values_depend_on_the_place_alone():
    assert derive_seed(1, TASK, 0, 3, 0) == derive_seed(1, TASK, 0, 3, 0)
    places = {
        derive_seed(seed, TASK, sample, position, 0) for seed in (1, 2) for sample in (0, 1) for position in (0, 1)
    }
    assert len(places) == 8
    assert all(0 <= value < 2**31 for value in places)


def test_every_request_is_sent_with_the_seed_of_its_place():
    """Samples asked for side by side, and what an action asks on its way, are drawn apart."""

    class Noting(Scripted):
        seeds: list[int]

        async def generate(self, call):
            self.seeds.append(call.seed)
            return await super().generate(call)

    endpoint = Noting(lambda prompt: "reply")
    endpoint.seeds = []
    made = Executor({"planner": endpoint}, None, Sampling(temperature=1.0), 7)

    async def go():
        async with made.for_episode(TASK, 2) as perform:
            for position, branch in ((0, 0), (0, 1), (1, 0), (1, 1000)):
                await perform(Ask("planner", "the same"), StepContext(position, branch))

    asyncio.run(go())
    assert endpoint.seeds == [derive_seed(7, TASK, 2, *place) for place in ((0, 0), (0, 1), (1, 0), (1, 1000))]
    assert len(set(endpoint.seeds)) == 4


def test_nothing_is_performed_before_there_is_room_to_record_it():
    """Steps may come faster than a disk takes them."""
    room, performed = [], []

    class Full(MemoryJournal):
        open_again: asyncio.Event

        async def wait_for_capacity(self):
            room.append(len(self.steps))
            await self.open_again.wait()

    async def perform(command, place):
        performed.append(command.prompt)
        return Completion("reply", "stop")

    def formulation(task, agent):
        for number in range(3):
            yield Ask("planner", str(number))
        return Outcome("7", "answered")

    known = Step(0, 0, Ask("planner", "0"), Completion("reply", "stop"))

    async def go():
        journal = Full([known])
        journal.open_again = asyncio.Event()
        running = asyncio.create_task(run_episode(formulation, TASK, AGENT, journal, perform))
        await asyncio.sleep(0.02)
        assert performed == [] and room == [1], "what is recorded needs no room, what is new does"
        journal.open_again.set()
        assert (await running).outcome == Outcome("7", "answered")

    asyncio.run(go())
    assert performed == ["1", "2"] and room == [1, 2]


def test_when_one_of_several_commands_fails_the_others_record_nothing_afterwards():
    async def perform(command, place):
        if place.branch == 0:
            raise InfrastructureError("gone")
        await asyncio.sleep(0.05)
        return Completion("late", "stop")

    def formulation(task, agent):
        yield [Ask("planner", "a"), Ask("planner", "b")]

    async def run_and_wait(journal):
        with pytest.raises(InfrastructureError):
            await run_episode(formulation, TASK, AGENT, journal, perform)
        await asyncio.sleep(0.1)

    journal = MemoryJournal()
    asyncio.run(run_and_wait(journal))
    assert journal.steps == []
