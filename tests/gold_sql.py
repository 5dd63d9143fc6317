"""Gold and wrong agents for InterCode-SQL, and GPT-4's recorded episodes replayed.

    python -m tests.gold_sql ../shared/data

prints every recorded episode whose outcome is another one on our copies, and why. Scripted, no model.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lumos_queue.actions.sql.interface import SqlActions
from lumos_queue.benchmarks.base import EpisodeResult
from lumos_queue.benchmarks.intercode_sql.benchmark import benchmark
from lumos_queue.benchmarks.intercode_sql.gold_queries import open_queries
from lumos_queue.benchmarks.intercode_sql.reward import iou_reward, original_reward
from lumos_queue.commands import Ask, Do
from lumos_queue.episode import StepContext, run_episode
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.gold_replies import GoldSolution, write_stepwise
from lumos_queue.records import Action, Annotation, Completion, Execution, Outcome, Score, Task

#: Why an outcome differs, by the recorded episode's task_id.
REASONS = {
    642: "rows without an order: SQLite lists those of gold's UNION in another order than MySQL",
    807: "rows without an order: SQLite groups in the order of names, MySQL in the order of the rows",
    865: "rows without an order: gold's UNION is sorted in SQLite, tau is then defined and below 0",
    900: "rows without an order: gold's INTERSECT is sorted in SQLite, MySQL keeps the order of the rows",
    916: "a tie: several countries have most languages, and LIMIT 1 picks another one than MySQL does",
}


def sql_tasks(data: Path) -> list[Task]:
    """The tasks, with what only the databases know."""
    tasks = list(
        benchmark.read(data / "intercode_sql/ic_spider_dev.json", "dev", databases=str(data / "spider/database"))
    )
    assert all(isinstance(task, Task) for task in tasks)
    return tasks  # type: ignore[return-value]


def sql_tools(data: Path, **extra_tools: str) -> dict[str, str]:
    return SqlActions.prepare({"databases": str(data / "spider/database"), **extra_tools})


async def play(
    actions: SqlActions, task: Task, annotation: Annotation
) -> tuple[Outcome, list[tuple[Action, Execution]]]:
    """Run the episode of an agent with the replies of the annotation, through the formulation and the real actions."""
    solution = GoldSolution(annotation, "intercode_sql")
    replies = {role: iter(lines) for role, lines in write_stepwise(solution).items()}
    session, executions = actions.begin(task.without_gold()), []

    async def perform(command, context: StepContext):
        if isinstance(command, Ask):
            return Completion(next(replies[command.role]), "stop")
        if isinstance(command, Do):
            execution = await session.execute(command.action, context)
            executions.append((command.action, execution))
            return execution
        return None

    agent = Agent(roles={}, domain="intercode_sql")
    outcome = (await run_episode(FORMULATIONS.load("iterative"), task, agent, MemoryJournal(), perform)).outcome
    return outcome, executions


def judge(task: Task, outcome: Outcome, executions: Sequence[tuple[Action, Execution]], tools: Mapping[str, str]):
    """Return the score of each metric, as an evaluation computes it."""
    answer = outcome.answer if outcome.ending == "answered" else None
    scores: Sequence[Score] = benchmark.score(task, EpisodeResult(answer, outcome.ending, executions, None, tools))
    return {score.metric: score for score in scores}


@dataclass(frozen=True)
class Turn:
    """One recorded action on our copies."""

    action: str
    observation: str  #: as InterCode recorded it
    ours: str
    reward: float  #: as InterCode recorded it
    original: float  #: by InterCode's formula
    iou: float  #: by the same without Kendall's tau


@dataclass(frozen=True)
class Replayed:
    """One recorded episode on our copies."""

    id: int
    recorded: float  #: the best reward that InterCode recorded
    original: float  #: ours, by InterCode's formula; 0 where it is negative, as the recorded best is
    order_aware: float
    iou: float  #: the best without Kendall's tau
    turns: tuple[Turn, ...]


async def replay(data: Path) -> list[Replayed]:
    """Replay all recorded episodes, action by action; an action without a query submits nothing."""
    tools = sql_tools(data, writes="yes", turns="50")
    actions = SqlActions(tools)
    by_question = {" ".join(task.question.split()): task for task in sql_tasks_of(data)}
    recording = json.loads((data / "intercode_sql/recorded_gpt-4_multiturn_10_turns.json").read_text())
    replays = []
    for episode in recording.values():
        task, steps, turns = by_question[" ".join(episode["query"].split())], [], []
        session, history = actions.begin(task.without_gold()), episode["turn_history"]
        gold = await asyncio.to_thread(_gold_rows, tools, task)
        parts = (history[name] for name in ("actions", "observations", "rewards"))
        for text, observation, reward in zip(*parts, strict=True):
            action = Action((f"R{len(steps) + 1}",), "", text)
            execution = await session.execute(action, StepContext(len(steps), 0, {}, steps))
            steps.append((action, execution))
            rows = execution.values[0].get("rows") if execution.ok else None
            worth = (0.0, 0.0) if rows is None else (original_reward(rows, gold), iou_reward(rows, gold))
            turns.append(Turn(text, observation, as_intercode(execution), reward, *worth))
        scores = await asyncio.to_thread(judge, task, Outcome("", "answered"), steps, tools)
        best = float(episode["summary"]["max_reward"])
        replays.append(
            Replayed(
                episode["task_id"],
                best,
                scores["intercode_reward"].value,
                scores["success_order_aware"].value,
                scores["iou_reward"].value,
                tuple(turns),
            )
        )
    await actions.close()
    return replays


def _gold_rows(tools: Mapping[str, str], task: Task) -> Sequence[Sequence[Any]]:
    return open_queries(tools).rows(task.inputs["database"], task.gold["answer"])


def sql_tasks_of(data: Path) -> list[Any]:
    return list(benchmark.read(data / "intercode_sql/ic_spider_dev.json", "dev"))


def differences(episodes: Sequence[Replayed]) -> list[str]:
    """A line for each episode whose outcome is another one: by which reward, and why."""
    return [
        f"task {episode.id}: recorded {episode.recorded:g}, original {episode.original:g}, "
        f"order-aware {episode.order_aware:g}: {REASONS.get(episode.id, 'unexplained')}"
        for episode in episodes
        if episode.original != episode.recorded or (episode.recorded == 1) != (episode.order_aware == 1)
    ]


def main() -> None:
    episodes = asyncio.run(replay(Path(sys.argv[1])))
    same = sum(episode.original == episode.recorded for episode in episodes)
    aware = sum((episode.recorded == 1) == (episode.order_aware == 1) for episode in episodes)
    turns = [turn for episode in episodes for turn in episode.turns]
    same_observations = sum(turn.observation == turn.ours for turn in turns)
    plain = sum(episode.iou == episode.recorded for episode in episodes)
    print(
        f"{len(episodes)} recorded episodes: same original reward {same}, same reward without tau {plain}, "
        f"same outcome by order-aware reward {aware}"
    )
    print(f"{len(turns)} turns, {same_observations} observations letter by letter the same")
    explained_turns = [
        sum(abs(turn.reward - getattr(turn, name)) < 0.001 for turn in turns) for name in ("original", "iou")
    ]
    print(
        f"rewards explained by the original formula {explained_turns[0]}, by the same without tau {explained_turns[1]}"
    )
    print("\n".join(differences(episodes)))


if __name__ == "__main__":
    main()


def as_intercode(execution: Execution) -> str:
    """What InterCode's environment prints for the same statement: all rows, `None`, or the error."""
    if not execution.ok:
        return f"Error executing query: {execution.message}"
    (value,) = execution.values
    return repr([tuple(row) for row in value["rows"]]) if "rows" in value else "None"
