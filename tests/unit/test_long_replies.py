"""A reply of very many actions: the first thousand are run, the rest is noted, and other episodes get their turns."""

from __future__ import annotations

import asyncio

from lumos_queue.commands import Do
from lumos_queue.endpoints.base import Sampling
from lumos_queue.episode import StepContext, run_episode
from lumos_queue.execution.executor import Executor
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.notation import TOO_MANY, read_actions
from lumos_queue.prompts.dialogue import MAX_ACTIONS
from lumos_queue.records import Action, Execution, Outcome, Task
from tests.cpu_limit import cpu_limit

TASK = Task("wordmath", "data", "1", "How many?", {})


def reply(count: int) -> str:
    return "; ".join(f"R{number % 9 + 1} = Calculator(1 + {number})" for number in range(count))


def test_the_actions_after_the_most_are_counted_and_not_read():
    assert read_actions(reply(1000), most=1000) == read_actions(reply(1000))
    *first, excess = read_actions(reply(1001), most=1000)
    assert tuple(first) == read_actions(reply(1000))
    assert (excess.variables, excess.name, excess.arguments) == ((), TOO_MANY, "1,001 actions")
    assert len(read_actions(reply(1001))) == 1001


def test_what_is_too_much_is_an_execution_that_names_both_numbers():
    async def run() -> Execution:
        async with Executor({}, None, Sampling(), 0).for_episode(TASK, 0) as perform:
            return await perform(Do(read_actions(reply(1_000_000), most=MAX_ACTIONS)[-1]), StepContext(0, 0))

    with cpu_limit(20):
        done = asyncio.run(run())
    assert (done.status, done.message) == (TOO_MANY, "a reply may have 1,000 actions, this one has 1,000,000")


def test_other_episodes_get_their_turn_while_one_runs_many_actions():
    action = Action(("R1",), "Calculator", "1 + 1", "")

    def many(task, agent):
        for _ in range(MAX_ACTIONS):
            yield Do(action)
        return Outcome("2", "answered")

    async def perform(command, place):
        return Execution("ok", "2", ({"kind": "number", "text": "2"},))

    async def run() -> int:
        turns = 0
        episode = asyncio.create_task(run_episode(many, TASK, None, MemoryJournal(), perform))
        while not episode.done():
            await asyncio.sleep(0)
            turns += 1
        return turns

    assert asyncio.run(run()) > MAX_ACTIONS // 100


def test_long_replies_without_an_end_are_read_in_linear_time():
    for piece in (";", "; ", "R1, ", "R1 = ", "; R1, ", "1,", "(", "; R1 =", " ", ";  R1 = ("):
        with cpu_limit(5):
            read_actions(piece * (400_000 // len(piece)), most=MAX_ACTIONS)
