"""Episodes of the four formulations over the generated tools: through the real driver, executor and session."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from experiments.tool_agents.faults import Setting, Tools
from experiments.tool_agents.models import Models
from experiments.tool_agents.questions import Question
from experiments.tool_agents.reading import value_in
from experiments.tool_agents.world import World
from lumos_queue.commands import Ask, Do
from lumos_queue.endpoints.scripted import Scripted
from lumos_queue.episode import EpisodeRun, run_episode
from lumos_queue.errors import EpisodeError
from lumos_queue.execution.executor import Executor
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.limits import Limits, limit_formulation
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.task_state import read_record
from lumos_queue.records import Completion, Ending, Execution

NAMES = ("react", "dfsdt", "rewoo", "sum2act")


@dataclass(frozen=True, slots=True)
class Contest:
    """What is the same for all episodes of a run."""

    world: World
    setting: Setting
    seed: int = 0
    noise: float = 0.1  #: share of decisions that are errors
    misjudged: float = 0.0  #: share of the state manager's verdicts that are


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a state manager said of a call, and what is true of it."""

    said: bool  #: that it was a success
    ok: bool  #: the status of the call
    found: bool  #: whether the body holds what the function is for


@dataclass(frozen=True, slots=True)
class Result:
    """One episode."""

    right: bool
    ending: str
    calls: int
    actions: int
    characters: int  #: of all prompts and replies
    longest: int  #: prompt of a policy or a router: characters
    grown: int  #: by how much it is longer than the first one
    verdicts: tuple[Verdict, ...] = ()


def play(
    contest: Contest,
    question: Question,
    name: str,
    limits: Limits | None = None,
    context: int = 0,
    settings: Mapping[str, str] | None = None,
) -> Result:
    """An episode. `limits` None: the formulation's own, as in its paper. `context`: characters of a prompt, beyond
    which the episode ends as where a model's context is full; 0: any."""
    run, journal = _episode(contest, question, name, limits, context, settings or {})
    model_calls = [(step.command, step.result) for step in journal.steps if isinstance(step.command, Ask)]
    decision_lengths = [len(command.prompt) for command, _ in model_calls if command.role in ("policy", "router")] or [
        0
    ]
    characters = sum(len(ask.prompt) + len(reply.text) for ask, reply in model_calls if isinstance(reply, Completion))
    right = run.outcome.ending == Ending.ANSWERED and question.is_right(run.outcome.answer, contest.world)
    return Result(
        right,
        str(run.outcome.ending),
        len(model_calls),
        len(run.actions),
        characters,
        max(decision_lengths),
        max(decision_lengths) - decision_lengths[0],
        tuple(verdicts(journal)),
    )


def journal_of(contest: Contest, question: Question, name: str) -> MemoryJournal:
    """The steps of an episode within the formulation's own limits."""
    return _episode(contest, question, name, None, 0, {})[1]


def _episode(
    contest: Contest, question: Question, name: str, limits: Limits | None, context: int, settings: Mapping[str, str]
) -> tuple[EpisodeRun, MemoryJournal]:
    formulation = FORMULATIONS.load(name)
    limits = formulation.limits if limits is None else limits
    agent = Agent({}, "tools", limits=limits, settings=settings, samplings=formulation.samplings)
    models = Models(contest.seed, contest.noise, contest.misjudged)
    endpoints = {role: Scripted(_limit_prompt(models, role, context)) for role in formulation.roles}
    tools = Tools(contest.world, question, contest.setting, contest.seed)
    executor = Executor(endpoints, tools.actions(), agent.sampling, contest.seed, samplings=agent.samplings)
    journal, task = MemoryJournal(), question.task()

    async def go() -> EpisodeRun:
        async with executor.for_episode(task, 0) as perform:
            return await run_episode(limit_formulation(formulation, limits), task, agent, journal, perform)

    return asyncio.run(go()), journal


def _limit_prompt(models: Models, role: str, context: int) -> Callable[[str], str]:
    reply = models.of(role)

    def reply_within(prompt: str) -> str:
        if context and len(prompt) > context:
            raise EpisodeError(Ending.LIMIT, f"the prompt has {len(prompt):,} characters, the context {context:,}")
        return reply(prompt)

    return reply_within


def verdicts(journal: MemoryJournal) -> list[Verdict]:
    """What the state manager said of each call that it was asked about."""
    manager_verdicts, latest = [], None
    for step in journal.steps:
        if isinstance(step.command, Do):
            latest = step
        elif isinstance(step.command, Ask) and step.command.role == "state_manager" and latest is not None:
            assert isinstance(latest.command, Do) and isinstance(latest.result, Execution)
            assert isinstance(step.result, Completion)
            relation = latest.command.action.name.partition("_for_")[0]
            holds = value_in(latest.result.result, relation) is not None
            is_success = read_record(step.result.text, "", "").success
            manager_verdicts.append(Verdict(is_success, latest.result.ok, holds))
            latest = None  # a summary that is asked for afterwards is no verdict
    return manager_verdicts
