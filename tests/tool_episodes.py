"""Episodes of tool agents with scripted models, through the real executor and sessions. For control flow only."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from lumos_queue.actions.tools.interface import ToolActions
from lumos_queue.commands import Ask
from lumos_queue.endpoints.base import ModelCall, Sampling
from lumos_queue.episode import run_episode
from lumos_queue.execution.executor import Executor
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.formulations.base import VERSION
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.limits import Limits, limit_formulation
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Completion, Execution, FinishReason, Outcome, Task
from tests.tool_apis import LATEST, OFFICES, record

PARCEL = Task(
    "toolbench",
    "d",
    "7",
    "Where is parcel P1?",
    {
        "functions": [LATEST, OFFICES],
        "answers": [record(), record("Offices", {"town": "Ombry"}, ["Žatec 東京", "Vell"])],
    },
)


class ScriptedModel:
    """A model that gives its replies in order, and the last one forever. It takes functions, and calls none."""

    url = "chat://scripted"
    admission = None

    def __init__(self, replies: Sequence[str | Completion]):
        self._replies = list(replies)

    async def generate(self, call: ModelCall) -> Completion:
        reply = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        return reply if isinstance(reply, Completion) else Completion(reply, FinishReason.STOP)


class Play:
    """An episode that was run: its outcome, and its steps by kind."""

    def __init__(self, outcome: Outcome, journal: MemoryJournal):
        self.outcome, self.steps = outcome, journal.steps

    def prompts(self, role: str) -> list[str]:
        return [
            step.command.prompt for step in self.steps if isinstance(step.command, Ask) and step.command.role == role
        ]

    @property
    def executions(self) -> list[Execution]:
        """The results of the model's calls."""
        return [step.result for step in self.steps if isinstance(step.result, Execution) and step.branch == 0]

    @property
    def digests(self) -> list[str]:
        """The digests of the commands, by which a stored episode is replayed."""
        return [step.command.digest for step in self.steps]


def play_episode(
    formulation: str,
    replies: Mapping[str, Sequence[str | Completion]],
    task: Task = PARCEL,
    version: int = VERSION,
    limits: Limits | None = None,
    tools: Mapping[str, str] | None = None,
    journal: MemoryJournal | None = None,
    framing: str = "train",
    **settings: str,
) -> Play:
    """Run an episode with the domain `tools`. `replies`: by role, in order; the last reply is repeated."""
    loaded = FORMULATIONS.load(formulation)
    limits = limits or loaded.limits
    agent = Agent({}, "tools", framing, tools=tools or {}, limits=limits, settings=settings)
    limited = limit_formulation(loaded.at_version(version), limits)
    journal = journal or MemoryJournal()
    models: Any = {role: ScriptedModel(texts) for role, texts in replies.items()}

    async def go() -> Outcome:
        executor = Executor(models, ToolActions(tools or {}), Sampling(), 0)
        async with executor.for_episode(task, 0) as perform:
            return (await run_episode(limited, task, agent, journal, perform)).outcome

    return Play(asyncio.run(go()), journal)
