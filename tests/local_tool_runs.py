"""Episodes of tool agents over functions that run here, by scripted models, through the real executor."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from lumos_queue.actions.local.interface import LocalToolActions
from lumos_queue.commands import Do
from lumos_queue.endpoints.base import ImagePart, ModelCall, Sampling
from lumos_queue.episode import EpisodeRun, run_episode
from lumos_queue.errors import EpisodeError
from lumos_queue.execution.executor import Executor
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.limits import limit_formulation
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Action, Completion, Ending, Execution, FinishReason, Outcome, Task


class ScriptedModel:
    """A scripted model: replies in order, the last for ever, or a function of the prompt."""

    def __init__(self, replies: Sequence[str] | Callable[[str], str]):
        self._replies = replies if callable(replies) else list(replies)
        self.prompts: list[str] = []

    async def generate(self, call: ModelCall) -> Completion:
        self.prompts.append(call.prompt)
        if callable(self._replies):
            return Completion(self._replies(call.prompt), FinishReason.STOP)
        return Completion(self._replies.pop(0) if len(self._replies) > 1 else self._replies[0], FinishReason.STOP)


def run_agent(
    name: str,
    task: Task,
    models: Mapping[str, Sequence[str] | Callable[[str], str]],
    artifacts: Mapping[str, bytes] | None = None,
    tools: Mapping[str, str] | None = None,
    journal: MemoryJournal | None = None,
    host=None,
) -> tuple[EpisodeRun, MemoryJournal]:
    """Run an episode of a formulation with a scripted model for each role."""
    formulation = FORMULATIONS.load(name)
    limited_formulation = limit_formulation(formulation, formulation.limits)
    agent = Agent({}, "local_tools", limits=formulation.limits)
    return _run(
        limited_formulation, task, agent, models, artifacts or {}, tools or {}, journal or MemoryJournal(), host
    )


def play(
    actions: Sequence[Action | Sequence[Action]],
    task: Task,
    artifacts: Mapping[str, bytes] | None = None,
    tools: Mapping[str, str] | None = None,
    journal: MemoryJournal | None = None,
    host=None,
) -> tuple[list[Execution], MemoryJournal]:
    """Return the executions of these actions, one after the other; actions of a list run together."""

    def formulation(task: Task, agent: Agent):
        for step in actions:
            yield Do(step) if isinstance(step, Action) else [Do(action) for action in step]
        return Outcome(None, Ending.NO_ANSWER)

    agent = Agent({}, "local_tools")
    run, journal = _run(formulation, task, agent, {}, artifacts or {}, tools or {}, journal or MemoryJournal(), host)
    return [execution for _, execution in run.actions], journal


def _run(formulation, task, agent, models, artifacts, tools, journal, host) -> tuple[EpisodeRun, MemoryJournal]:
    async def load(digest: str) -> ImagePart:
        if digest not in artifacts:
            raise EpisodeError(Ending.INFRA_ERROR, f"no artifact {digest}")
        return ImagePart(artifacts[digest], "image/png")

    async def go() -> EpisodeRun:
        actions = LocalToolActions(tools, host=host)
        endpoints = {role: ScriptedModel(replies) for role, replies in models.items()}
        executor = Executor(endpoints, actions, Sampling(), 0, None, load)  # type: ignore[arg-type]
        try:
            async with executor.for_episode(task, 0) as perform:
                return await run_episode(formulation, task, agent, journal, perform)
        finally:
            await actions.close()

    return asyncio.run(go()), journal
