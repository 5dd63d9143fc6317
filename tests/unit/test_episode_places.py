"""Where in an episode something happens: steps within an action, what is told of it, and who is asked with what."""

from __future__ import annotations

import asyncio

import pytest

from lumos_queue.commands import WITHIN, Ask, Call, Do, Step
from lumos_queue.endpoints.base import Sampling
from lumos_queue.endpoints.scripted import Scripted
from lumos_queue.episode import STRETCH, Diverged, StepContext, run_episode
from lumos_queue.errors import EpisodeError, InfrastructureError
from lumos_queue.execution.executor import Executor, derive_seed
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Action, Completion, Execution, FinishReason, Outcome, Task

TASK = Task("b", "digest", "1", "How many?")
AGENT = Agent(roles={}, domain="maths")
FINE = Completion("fine", "stop")


def run(formulation, perform, journal=None):
    return asyncio.run(run_episode(formulation, TASK, AGENT, journal or MemoryJournal(), perform)).outcome


# --- steps within an action -------------------------------------------------------------------------------------------


def test_what_an_action_asks_stands_behind_its_own_branch_and_keeps_its_images():
    asked = []

    async def step(command, position, branch):
        asked.append((command, position, branch))
        return FINE

    async def two_questions():
        place = StepContext(3, 1, step=step)
        await place.ask("captioner", "What is it?", ("sha",))
        await place.ask("qa", "And now?")

    asyncio.run(two_questions())
    assert asked == [
        (Ask("captioner", "What is it?", ("sha",)), 3, 2 * WITHIN),
        (Ask("qa", "And now?"), 3, 2 * WITHIN + 1),
    ]
    assert all(isinstance(branch, int) for _, _, branch in asked)


def test_a_place_outside_of_an_episode_says_so():
    with pytest.raises(AssertionError, match=r"^this context belongs to no episode"):
        asyncio.run(StepContext(0, 0).ask("qa", "?"))


# --- the loop ---------------------------------------------------------------------------------------------------------


def test_the_step_that_was_recorded_for_another_command_is_named():
    def two(task, agent):
        yield Ask("planner", "a")
        yield Ask("planner", "b")

    recorded = [Step(0, 0, Ask("planner", "a"), FINE), Step(1, 0, Ask("planner", "c"), FINE)]
    with pytest.raises(Diverged, match=r"^step 1\.0 is recorded for another command$"):
        run(two, None, MemoryJournal(recorded))


def test_a_call_of_the_formulation_is_answered_and_is_no_action():
    seen = []

    async def perform(command, place):
        seen.append(list(place.done))
        return Execution("ok", "found")

    def calling(task, agent):
        found = yield Call("search", {"query": "x"})
        yield Do(Action(("R1",), "Define", "x"))
        return Outcome(found.result, "answered")

    assert run(calling, perform) == Outcome("found", "answered")
    assert seen == [[], []]


def test_a_variable_without_a_value_stays_unset():
    known = []

    async def perform(command, place):
        known.append(dict(place.variables))
        return Execution("ok", "5", ({"text": "5"},))

    def both(task, agent):
        yield Do(Action(("R1", "R2"), "SolveEquation", "x"))
        yield Do(Action(("R3",), "Define", "R1"))
        return Outcome("5", "answered")

    run(both, perform)
    assert known == [{}, {"R1": {"text": "5"}}]


def test_other_episodes_get_a_turn_after_each_stretch_of_steps_and_not_before():
    async def perform(command, place):
        return Execution("ok", "2", ())

    def turns(steps: int) -> int:
        def many(task, agent):
            for _ in range(steps):
                yield Do(Action(("R1",), "Define", "2"))
            return Outcome("2", "answered")

        async def count() -> int:
            turns = 0
            episode = asyncio.create_task(run_episode(many, TASK, AGENT, MemoryJournal(), perform))
            while not episode.done():
                await asyncio.sleep(0)
                turns += 1
            return turns

        return asyncio.run(count())

    none = turns(1)
    assert [turns(steps) - none for steps in (STRETCH - 1, STRETCH, 2 * STRETCH - 1, 2 * STRETCH)] == [0, 1, 1, 2]


def test_when_one_of_several_commands_fails_the_others_have_ended_before_that_is_told():
    ended = []

    async def perform(command, place):
        if place.branch == 0:
            await asyncio.sleep(0)
            raise InfrastructureError("gone")
        try:
            return await asyncio.sleep(10)
        finally:
            await asyncio.sleep(0.01)  # as closing a connection takes a moment
            ended.append(place.branch)

    def formulation(task, agent):
        yield [Ask("planner", "a"), Ask("planner", "b"), Ask("planner", "c")]

    async def told():
        with pytest.raises(InfrastructureError, match=r"^gone$"):
            await run_episode(formulation, TASK, AGENT, MemoryJournal(), perform)
        return sorted(ended)

    assert asyncio.run(told()) == [1, 2]


# --- who is asked with what -------------------------------------------------------------------------------------------


class Noting(Scripted):
    """Keeps what it is asked with."""

    def __init__(self):
        super().__init__([])
        self.asked = []

    async def generate(self, call):
        self.asked.append((call.prompt, call.sampling, call.seed, call.episode, list(call.images)))
        return FINE


def ask(executor: Executor, command: Ask, place: StepContext):
    async def go():
        async with executor.for_episode(TASK, 2) as perform:
            return await perform(command, place)

    return asyncio.run(go())


def test_an_endpoint_is_told_the_seed_of_the_place_and_the_episode():
    async def image(sha):
        return f"part of {sha}"

    endpoint, sampling = Noting(), Sampling(temperature=0.5)
    executor = Executor({"planner": endpoint}, None, sampling, 7, image=image)
    ask(executor, Ask("planner", "p"), StepContext(4, 1))
    ask(executor, Ask("planner", "q", ("one", "two")), StepContext(4, 0))
    assert endpoint.asked == [
        ("p", sampling, derive_seed(7, TASK, 2, 4, 1), "digest 1 2", []),
        ("q", sampling, derive_seed(7, TASK, 2, 4, 0), "digest 1 2", ["part of one", "part of two"]),
    ]


def test_a_role_that_nobody_plays_ends_the_episode_and_names_the_option():
    with pytest.raises(EpisodeError, match=r"^no endpoint for the role 'qa': give --role qa=URL$") as error:
        ask(Executor({}, None, Sampling(), 0), Ask("qa", "?"), StepContext(0, 0))
    assert error.value.ending == "infra_error"


def test_a_judge_that_refuses_has_said_nothing():
    class Refusing(Scripted):
        async def generate(self, call):
            raise EpisodeError("infra_error", "400: filtered")

    answer = ask(Executor({"judge": Refusing([])}, None, Sampling(), 0), Ask("judge", "?"), StepContext(0, 0))
    assert answer == Completion("", FinishReason.REFUSED)


def test_a_random_value_is_the_same_on_every_machine_and_in_every_version():
    assert derive_seed(1, TASK, 0, 3, 0) == 2_004_688_321
    assert derive_seed(0, Task("svamp", "data", "chal-7", ""), 2, 10, 1001) == 2_135_787_066


@pytest.mark.parametrize("other", [Task("b", "other", "1", ""), Task("b", "digest", "2", "")])
def test_a_random_value_depends_on_dataset_and_row(other):
    assert derive_seed(1, other, 0, 3, 0) != derive_seed(1, TASK, 0, 3, 0)
