"""The observations that ToolBench recorded, from the recorded answers: what a model is sent under each protocol."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from lumos_queue.actions.tools.finish import read_toolbench_finish
from lumos_queue.actions.tools.interface import ToolActions
from lumos_queue.actions.tools.protocols import TOOLBENCH
from lumos_queue.actions.tools.task_functions import functions_of_task
from lumos_queue.commands import Do
from lumos_queue.compat.toolbench.answer_reading import read_answer_file
from lumos_queue.compat.toolbench.trees import RecordedDecision
from lumos_queue.endpoints.base import Sampling
from lumos_queue.episode import run_episode
from lumos_queue.execution.executor import Executor
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Action, Execution, Outcome, Task
from lumos_queue.searches.answer_episodes import task_of

ESCAPE = re.compile(r"\\u[0-9a-f]{4}")


def observe(task: Task, decisions: Sequence[RecordedDecision], protocol: str) -> list[str]:
    """Make the calls of a search again; return what a model is sent of each."""
    results: list[str] = []

    def formulation(task: Task, agent: Agent):
        for decision in decisions:
            execution = yield from Do(Action((), decision.name, decision.arguments), protocol=protocol)
            results.append(execution.result)
        return Outcome(None, "no_answer")

    async def go() -> None:
        executor = Executor({}, ToolActions({}), Sampling(), 0)
        async with executor.for_episode(task, 0) as perform:
            await run_episode(formulation, task, Agent({}, "tools"), MemoryJournal(), perform)

    asyncio.run(go())
    return results


def recorded_searches(shared_data: Path) -> list[tuple[Task, list[RecordedDecision]]]:
    files = [read_answer_file(path) for path in sorted((shared_data / "toolbench" / "answer").rglob("*.json"))]
    return [(task_of(file, "d"), file.decisions) for file in files]


def test_a_part_of_the_recorded_observations_has_escapes(shared_data):
    observations = [one.observation for _, decisions in recorded_searches(shared_data) for one in decisions if one.name]
    assert len(observations) == 114
    assert sum(bool(ESCAPE.search(text)) for text in observations) == 14, "12 %"


@pytest.mark.parametrize(("protocol", "equal", "equal_with_escapes"), [(TOOLBENCH, 91, 14), ("", 77, 0)])
def test_recorded_observations_are_sent_again_exactly_under_toolbenchs_protocol(
    shared_data, protocol, equal, equal_with_escapes
):
    pairs = []
    for task, decisions in recorded_searches(shared_data):
        known = functions_of_task(task)
        calls = [decision for decision in decisions if decision.name in known]
        sent = observe(task, calls, protocol)
        pairs += [(decision.observation, text) for decision, text in zip(calls, sent, strict=True)]
    assert len(pairs) == 91
    assert sum(recorded == text for recorded, text in pairs) == equal
    assert sum(recorded == text for recorded, text in pairs if ESCAPE.search(recorded)) == equal_with_escapes


def test_recorded_calls_of_finish_end_as_they_ended(shared_data):
    codes = []
    for _, decisions in recorded_searches(shared_data):
        for decision in decisions:
            if decision.name == "Finish" and decision.code in (3, 4):
                assert (read_toolbench_finish(decision.arguments) is None) == (decision.code == 4)
                codes.append(decision.code)
    assert len(codes) == 9


def test_functions_that_run_here_are_shown_in_the_same_way():
    from lumos_queue.actions.local.documents import local_functions
    from lumos_queue.actions.local.interface import LocalToolActions

    task = Task("x", "d", "1", "Look it up.", {"functions": local_functions("search", "calculator", "write_file")})

    async def go() -> list[Execution]:
        results = []

        def formulation(task: Task, agent: Agent):
            for name, arguments in (("search", {"query": "café"}), ("write_file", {"name": "e.txt", "text": "é"})):
                execution = yield from Do(Action((), name, json.dumps(arguments)), protocol=TOOLBENCH)
                results.append(execution)
            return Outcome(None, "no_answer")

        executor = Executor({}, LocalToolActions(), Sampling(), 0)
        async with executor.for_episode(task, 0) as perform:
            await run_episode(formulation, task, Agent({}, "local_tools"), MemoryJournal(), perform)
        return results

    execution, written = asyncio.run(go())
    assert execution.ok and "caf\\u00e9" in execution.result and "café" in execution.values[0]["full"]
    assert written.ok and written.values[0]["artifacts"], "what a call made stays beside the text"
