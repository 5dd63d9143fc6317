"""Calls that a domain's actions answer themselves: by the executor, and as steps like any other."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

from lumos_queue.commands import WITHIN, Ask, Call, Do
from lumos_queue.endpoints.base import Sampling
from lumos_queue.endpoints.scripted import Scripted
from lumos_queue.episode import run_episode
from lumos_queue.execution.executor import Executor
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.records import Action, Execution, Outcome, Task

TASK = Task("b", "digest", "1", "Question?")


class Records:
    """Actions whose every action calls `api` twice, and which answer `api` with what a model says of it."""

    domain, roles = "records", ("simulator",)

    def __init__(self):
        self.asked: list[tuple] = []
        self.local_tools = {"api": self._answer}

    async def _answer(self, arguments, nth, context):
        self.asked.append((dict(arguments), nth, context.branch))
        said = await context.ask("simulator", f"{arguments['q']} for the {nth}. time")
        return Execution("ok", said.text, ({"kind": "observation", "text": said.text},), provenance="simulated")

    def begin(self, task):
        return self

    async def execute(self, action, context):
        earlier = sum(one.name == action.name for _, _, one in context.requested) - 1
        first = await context.call("api", nth=2 * earlier, q=action.name)
        second = await context.call("api", nth=2 * earlier + 1, q=action.name)
        await context.call("elsewhere")
        return Execution("ok", f"{first.result} {second.result}", ({"kind": "observation", "text": second.result},))

    async def close(self):
        pass


def twice(task, agent):
    yield Do(Action((), "look", "{}"))
    done = yield Do(Action((), "look", "{}"))
    return Outcome(done.result, "answered")


def run(journal, replies):
    actions = Records()
    made = Executor({"simulator": Scripted(replies)}, actions, Sampling(), 0)

    async def go():
        async with made.for_episode(TASK, 0) as perform:
            return (await run_episode(twice, TASK, None, journal, perform)).outcome

    return asyncio.run(go()), actions


REPLIES = ["one", "two", "three", "four"]


def test_a_local_tool_is_told_how_many_equal_calls_came_before_and_where_its_answer_is_from():
    journal = MemoryJournal()
    outcome, actions = run(journal, REPLIES)
    assert outcome.answer == "three four"
    assert actions.asked == [({"q": "look"}, nth, WITHIN + nth % 2) for nth in range(4)]
    calls = [step for step in journal.steps if isinstance(step.command, Call)]
    assert [(step.command.tool, step.command.nth, step.result.provenance) for step in calls] == [
        ("api", 0, "simulated"),
        ("api", 1, "simulated"),
        ("elsewhere", 0, ""),
        ("api", 2, "simulated"),
        ("api", 3, "simulated"),
        ("elsewhere", 0, ""),
    ]
    assert len({step.command.digest for step in calls}) == 2, "equal calls have equal names"
    assert {step.result.status for step in calls if step.command.tool == "elsewhere"} == {"live_refused"}


def test_what_a_local_tool_asks_is_a_step_of_its_own_and_is_not_asked_again():
    whole = MemoryJournal()
    outcome, _ = run(whole, REPLIES)
    places = [(step.position, step.branch) for step in whole.steps if isinstance(step.command, Ask)]
    assert places == [(at, WITHIN * (WITHIN + k + 1)) for at in (0, 1) for k in (0, 1)]
    for known in range(len(whole.steps) + 1):
        before = whole.steps[:known]
        asked = sum(isinstance(step.command, Ask) for step in before)
        journal = MemoryJournal(before)
        assert run(journal, REPLIES[asked:])[0] == outcome
        assert [(step.position, step.branch, step.command) for step in journal.steps] == [
            (step.position, step.branch, step.command) for step in whole.steps
        ]


def test_an_interface_without_local_tools_calls_outside():
    seen = []

    async def call(command, key):
        seen.append((command, len(key)))
        return Execution("ok", "from outside", provenance="live")

    actions = Records()
    actions.local_tools = {}
    for interface in (actions, SimpleNamespace(begin=actions.begin)):
        made = Executor({}, interface, Sampling(), 0, SimpleNamespace(call=call))

        async def go(made=made):
            async with made.for_episode(TASK, 0) as perform:
                return await run_episode(twice, TASK, None, MemoryJournal(), perform)

        assert asyncio.run(go()).outcome.answer == "from outside from outside"
    assert [command.nth for command, _ in seen] == [0, 1, 0, 2, 3, 0] * 2


def test_a_role_may_be_sampled_unlike_the_others():
    used = []

    class Noting(Scripted):
        async def generate(self, call):
            used.append(call.sampling.temperature)
            return await super().generate(call)

    endpoint = Noting(lambda prompt: "reply")
    made = Executor(
        {"policy": endpoint, "judge": endpoint, "solver": endpoint},
        None,
        Sampling(temperature=0.5),
        0,
        samplings={"policy": Sampling(temperature=1.0)},
    )

    def ask_all(task, agent):
        for role in ("policy", "solver"):
            yield Ask(role, "prompt")
        return Outcome("x", "answered")

    async def go():
        async with made.for_episode(TASK, 0) as perform:
            await run_episode(ask_all, TASK, None, MemoryJournal(), perform)

    asyncio.run(go())
    assert used == [1.0, 0.5]
