"""ToolEval's verdicts beside the truth: scripted judges on episodes of ToolWorld, whose checker knows what is right.

python -m experiments.toolworld.judges [--tasks 50] [--seed 0]

Episodes are those of the noisy and of the random policy, by ReAct, on the same tasks with faults.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from experiments.toolworld.grid import EQUAL, Cell
from experiments.toolworld.memory_run import Models, run_once
from experiments.toolworld.policies import UNKNOWN, Policies, RandomPolicy
from lumos_queue.actions.tools.functions import FINISH
from lumos_queue.actions.tools.task_functions import functions_of_task
from lumos_queue.benchmarks.base import EpisodeResult
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.commands import Ask, Command, Result
from lumos_queue.episode import EpisodeRun, StepContext, run_episode
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.function_list import FunctionList
from lumos_queue.prompts.judged_run import ANSWERED, GAVE_UP, UNFINISHED, JudgedRun, JudgedStep, within_bounds
from lumos_queue.prompts.tooleval import describe_functions
from lumos_queue.records import Completion, Ending, FinishReason, Role, Task
from lumos_queue.scoring.statistics import cohen_kappa, kappa_interval

CELL = Cell("1-4 links", faults=0.5)
METRICS = ("pass", "tooleval_pass")  #: of a judge: whether the answer solves the request; the same by ToolEval's table
_TASK = "Could the request be solved"
_AGAIN = "in view of what the calls returned?"
_FINAL = re.compile(r'^Final answer: "(.*)"$', re.MULTILINE)
_RETURNED = re.compile(r"^- .*? \(ok\) returned (.*)$", re.MULTILINE)
_NUMBER = re.compile(r"\b[0-9]{3,5}\b")


def believe_values(prompt: str) -> str:
    """Believes every answer that gives a value, and holds every request for solvable."""
    if _TASK in prompt:
        return "Label: Solvable"
    match = _FINAL.search(prompt)
    return "Label: Solved" if match and UNKNOWN not in match[1] and _NUMBER.search(match[1]) else "Label: Unsolved"


def look_values_up(prompt: str) -> str:
    """Looks each value of the answer up in what calls returned; it knows neither documents nor which call was right."""
    if _TASK in prompt:
        return "Label: Unsure"
    match = _FINAL.search(prompt)
    if match is None or UNKNOWN in match[1]:
        return "Label: Unsolved"
    if _AGAIN not in prompt:
        return "Label: Unsure"
    returned_numbers = set(_NUMBER.findall(" ".join(_RETURNED.findall(prompt))))
    values = _NUMBER.findall(match[1])
    return "Label: Solved" if values and returned_numbers.issuperset(values) else "Label: Unsolved"


def say_truth(is_solved: bool) -> Callable[[str], str]:
    """Knows whether the answer gives every value that was asked for: as good as any judge, a trained one too, can be.

    It holds every request for solvable, as the documents of functions do not tell that no API answers.
    """
    label = "Solved" if is_solved else "Unsolved"
    return lambda prompt: f"Label: {'Solvable' if _TASK in prompt else label}"


JUDGES: Mapping[str, Callable[[str], str]] = {"trusting": believe_values, "comparing": look_values_up}
KNOWING = "knowing"


@dataclass(frozen=True, slots=True)
class Agreement:
    """A judge's metric beside the truth, on the same episodes."""

    judge: str
    metric: str
    pairs: tuple[tuple[bool, bool], ...]  #: the truth, and what the judge says

    @property
    def share(self) -> float:
        return sum(true == verdict for true, verdict in self.pairs) / len(self.pairs)

    def count(self, true: bool, verdict: bool) -> int:
        return self.pairs.count((true, verdict))

    def kappa(self) -> tuple[float, float, float] | None:
        """Cohen's kappa with its interval of 95 %; None where it is not defined."""
        labels = [(str(true), str(verdict)) for true, verdict in self.pairs]
        value, interval = cohen_kappa(labels), kappa_interval(labels)
        return None if value is None or interval is None else (value, *interval)


def build_judged_run(run: EpisodeRun) -> JudgedRun:
    """The run as a judge is shown it."""
    ending = {Ending.ANSWERED: ANSWERED, Ending.GAVE_UP: GAVE_UP}.get(run.outcome.ending, UNFINISHED)
    steps = [
        JudgedStep(action.name, action.arguments, execution.status, execution.result)
        for action, execution in run.actions
        if action.name != FINISH.name
    ]
    return JudgedRun(ending, run.outcome.answer or "", *within_bounds(steps))


def judge_run(judge: Callable[[str], str], task: Task, run: JudgedRun) -> dict[str, float]:
    """The scores that `lumos judge` would store, by one vote."""
    functions = describe_functions(FunctionList(tuple(functions_of_task(task).values())))
    judge_task = Task("tooleval", "", task.row, task.question, {**functions, "run": run.as_json()})

    async def answer(command: Command, context: StepContext) -> Result:
        assert isinstance(command, Ask) and command.role == Role.JUDGE
        return Completion(judge(command.prompt), FinishReason.STOP)

    agent = Agent({}, "tools", settings={"votes": "1"})
    episode = asyncio.run(run_episode(FORMULATIONS.load("tooleval"), judge_task, agent, MemoryJournal(), answer))
    result = EpisodeResult(episode.outcome.answer)
    return {score.metric: score.value for score in open_benchmark("tooleval").score(judge_task, result)}


def compare(tasks: Sequence[Task], models: Sequence[Models]) -> list[Agreement]:
    """Each judge's metrics beside the benchmark's, over the episodes of all models on these tasks. A tie is no pass."""
    world, pairs = open_benchmark("toolworld"), dict[tuple[str, str], list[tuple[bool, bool]]]()
    for task in tasks:
        for model in models:
            run, _ = run_once(task, "react", model, EQUAL)
            true = world.score(task, EpisodeResult(run.outcome.answer, str(run.outcome.ending)))[0].value == 1
            is_solved = true and all(part["answer"] is not None for part in task.gold["parts"])
            for name, judge in {**JUDGES, KNOWING: say_truth(is_solved)}.items():
                scores = judge_run(judge, task, build_judged_run(run))
                for metric in METRICS:
                    pairs.setdefault((name, metric), []).append((true, scores[metric] > 0.5))
    return [Agreement(*key, tuple(verdict_pairs)) for key, verdict_pairs in pairs.items()]


def main(
    tasks: Annotated[int, typer.Option(min=1, max=500, help="Each is played by both policies.")] = 50,
    seed: Annotated[int, typer.Option(help="Of the policies' errors.")] = 0,
) -> None:
    """Agreement of scripted judges with the checker: of ToolEval's figures, not of a model that judges."""
    agreements = compare(CELL.tasks(tasks, 0.1), (Policies(seed, 0.1), RandomPolicy(seed)))
    columns = ("judge", "metric", "episodes", "agreement", "kappa [95 %]", "passed wrongly", "failed wrongly")
    table = Table(*columns, title=f"ToolEval's verdicts beside `pass`: {CELL.label}, and the random policy")
    for agreement in agreements:
        kappa = agreement.kappa()
        kappa_text = "not defined" if kappa is None else f"{kappa[0]:.2f} [{kappa[1]:.2f}, {kappa[2]:.2f}]"
        wrong = str(agreement.count(False, True)), str(agreement.count(True, False))
        table.add_row(
            agreement.judge,
            agreement.metric,
            str(len(agreement.pairs)),
            f"{100 * agreement.share:.1f} %",
            kappa_text,
            *wrong,
        )
    Console(width=150).print(table)


if __name__ == "__main__":
    typer.run(main)
