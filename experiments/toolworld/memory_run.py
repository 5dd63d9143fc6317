"""Episodes of ToolWorld in memory: the real formulations, executor and tool session, with scripted models."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from lumos_queue.actions.tools.interface import WORLD, ToolActions
from lumos_queue.actions.tools.world import GONE
from lumos_queue.benchmarks.base import EpisodeResult
from lumos_queue.benchmarks.toolworld.answer_check import holds_value
from lumos_queue.benchmarks.toolworld.benchmark import benchmark
from lumos_queue.commands import Ask, Do
from lumos_queue.endpoints.scripted import Scripted
from lumos_queue.episode import EpisodeRun, run_episode
from lumos_queue.errors import EpisodeError
from lumos_queue.execution.executor import Executor
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.limits import Limits, limit_formulation
from lumos_queue.notation import REPEATED
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.task_state import read_record
from lumos_queue.records import Action, Completion, Ending, Execution, Task

NAMES = ("react", "dfsdt", "sum2act")
OBSERVATION = 200_000  #: characters of an answer that a policy is shown: all, so that the ratio is what it says


class Models(Protocol):
    """Scripted models by role."""

    def of(self, role: str) -> Callable[[str], str]: ...


@dataclass(frozen=True, slots=True)
class Result:
    """One episode."""

    scores: Mapping[str, float]
    ending: str
    calls: int  #: of models
    actions: int
    repeated: int  #: calls that were made before
    characters: int  #: of all prompts and replies
    longest: int  #: prompt of a policy or a router: characters
    verdicts: tuple[tuple[bool, bool], ...] = ()  #: the state manager's of each call, and the truth


def play(
    task: Task,
    name: str,
    models: Models,
    limits: Limits | None = None,
    context: int = 0,
    settings: Mapping[str, str] | None = None,
) -> Result:
    """An episode. `limits` None: the formulation's own, as in its paper. `context`: characters of a prompt, beyond
    which the episode ends as where a model's context is full; 0: any."""
    run, journal = run_once(task, name, models, limits, context, settings)
    model_calls = [(step.command, step.result) for step in journal.steps if isinstance(step.command, Ask)]
    decision_lengths = [len(command.prompt) for command, _ in model_calls if command.role in ("policy", "router")] or [
        0
    ]
    characters = sum(len(ask.prompt) + len(reply.text) for ask, reply in model_calls if isinstance(reply, Completion))
    result = EpisodeResult(run.outcome.answer, str(run.outcome.ending), run.actions)
    return Result(
        {score.metric: score.value for score in benchmark.score(task, result)},
        str(run.outcome.ending),
        len(model_calls),
        len(run.actions),
        count_repeated(action for action, _ in run.actions),
        characters,
        max(decision_lengths),
        tuple(_verdicts(task, journal)),
    )


def run_once(
    task: Task,
    name: str,
    models: Models,
    limits: Limits | None = None,
    context: int = 0,
    settings: Mapping[str, str] | None = None,
    journal: MemoryJournal | None = None,
) -> tuple[EpisodeRun, MemoryJournal]:
    """An episode and its steps; those that the journal begins with are replayed."""
    formulation = FORMULATIONS.load(name)
    limits = formulation.limits if limits is None else limits
    agent = Agent({}, "tools", limits=limits, settings=settings or {}, samplings=formulation.samplings)
    endpoints = {role: Scripted(_limit_prompt(models.of(role), context)) for role in formulation.roles}
    actions = ToolActions({"observation": str(OBSERVATION)})
    executor = Executor(endpoints, actions, agent.sampling, 0, samplings=agent.samplings)
    journal = journal or MemoryJournal()

    async def go() -> EpisodeRun:
        async with executor.for_episode(task, 0) as perform:
            return await run_episode(limit_formulation(formulation, limits), task, agent, journal, perform)

    return asyncio.run(go()), journal


def count_repeated(actions: Iterable[Action]) -> int:
    """Calls that were made before, by name and arguments, those that were refused for it included."""
    calls = [(action.name, action.arguments) for action in actions]
    return len(calls) - len({call for call in calls if call[0] != REPEATED})


def break_all(task: Task) -> Task:
    """The task with every API gone."""
    world: Any = task.inputs[WORLD]
    parts = [
        [{**link, "apis": [{**api, "fault": GONE} for api in link["apis"]]} for link in part] for part in world["parts"]
    ]
    return replace(task, inputs={**task.inputs, WORLD: {**world, "parts": parts}})


def _limit_prompt(reply: Callable[[str], str], context: int) -> Callable[[str], str]:
    def reply_within(prompt: str) -> str:
        if context and len(prompt) > context:
            raise EpisodeError(Ending.LIMIT, f"the prompt has {len(prompt):,} characters, the context {context:,}")
        return reply(prompt)

    return reply_within


def _verdicts(task: Task, journal: MemoryJournal) -> list[tuple[bool, bool]]:
    """What the state manager said of each call that it was asked about, and whether it holds a value of the gold."""
    verdicts, latest = [], None
    for step in journal.steps:
        if isinstance(step.command, Do):
            latest = step.result
        elif isinstance(step.command, Ask) and step.command.role == "state_manager" and latest is not None:
            assert isinstance(latest, Execution) and isinstance(step.result, Completion)
            is_success = read_record(step.result.text, "", "").success
            verdicts.append((is_success, holds_value(task.gold["parts"], latest)))
            latest = None  # a summary that is asked for afterwards is no verdict
    return verdicts
