"""Scripted planners and grounders for WebShop, which know the goal, or buy nothing; no model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lumos_queue.actions.base import ActionInterface, Session
from lumos_queue.benchmarks.base import EpisodeResult
from lumos_queue.benchmarks.webshop.benchmark import benchmark
from lumos_queue.commands import Ask, Do
from lumos_queue.episode import StepContext, run_episode
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.gold_replies import GoldSolution, write_stepwise
from lumos_queue.records import Action, Annotation, Completion, Execution, Outcome, Task

Seen = list[tuple[Action, Execution]]


def gold_says(annotation: Annotation) -> dict[str, list[str]]:
    """Return the replies of a planner and a grounder that know the goal."""
    return write_stepwise(GoldSolution(annotation, "webshop"))


def window_shopper_says(annotation: Annotation) -> dict[str, list[str]]:
    """Return the gold replies without the purchase."""
    replies = gold_says(annotation)
    grounder = replies["grounder"]
    return replies | {"grounder": [*grounder[:-1], grounder[-1].rpartition("; ")[0]]}


async def play(
    actions: ActionInterface,
    task: Task,
    texts: Mapping[str, Sequence[str]],
    journal: MemoryJournal | None = None,
    session: Session | None = None,
    max_subgoals: int = 5,
) -> tuple[Outcome, Seen]:
    """Run the episode of an agent with these replies, through the formulation and the real shop."""
    replies = {role: iter(lines) for role, lines in texts.items()}
    session, executions = session or actions.begin(task.without_gold()), []

    async def perform(command, context: StepContext):
        if isinstance(command, Ask):
            return Completion(next(replies[command.role]), "stop")
        if isinstance(command, Do):
            execution = await session.execute(command.action, context)
            executions.append((command.action, execution))
            return execution
        return None

    agent = Agent(roles={}, domain="webshop", max_subgoals=max_subgoals)
    return (
        await run_episode(FORMULATIONS.load("iterative"), task, agent, journal or MemoryJournal(), perform)
    ).outcome, executions


def judge(task: Task, outcome: Outcome, executions: Seen, tools: Mapping[str, str] | None = None) -> dict[str, float]:
    """Return the value of each metric, as an evaluation computes it."""
    answer = outcome.answer if outcome.ending == "answered" else None
    scores = benchmark.score(task, EpisodeResult(answer, outcome.ending, executions, tools=tools or {}))
    return {score.metric: score.value for score in scores}
