"""Agents for ToolBench that call every relevant API, or no relevant API; no model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lumos_queue.actions.tools.functions import Function, Parameter, functions_of
from lumos_queue.benchmarks.base import EpisodeResult
from lumos_queue.benchmarks.toolbench.benchmark import benchmark
from lumos_queue.records import Action, Execution, Score, Task
from tests.tool_apis import call, play

FINISH = call("Finish", {"return_type": "give_answer", "final_answer": "It is done."})


def value_of(parameter: Parameter) -> Any:
    """Some value of its type."""
    return {"number": 3.5, "boolean": True}.get(parameter.type, "Ombry")


def call_of(function: Function) -> Action:
    """Return a call with all required arguments."""
    return call(
        function.name, {parameter.name: value_of(parameter) for parameter in function.parameters if parameter.required}
    )


def relevant_calls(task: Task) -> list[Action]:
    relevant = {tuple(pair) for pair in task.gold["relevant"]}
    return [
        call_of(function)
        for function in functions_of(task.inputs["functions"])
        if (function.tool, function.api) in relevant
    ]


def other_calls(task: Task) -> list[Action]:
    """Every API that is not relevant, and the names of the relevant ones as they are in the document."""
    relevant = {tuple(pair) for pair in task.gold["relevant"]}
    functions = functions_of(task.inputs["functions"])
    calls = [call_of(function) for function in functions if (function.tool, function.api) not in relevant]
    return [*calls, *(call(api) for _, api in relevant)]


def judge(task: Task, actions: Iterable[Action]) -> tuple[list[Execution], list[Score]]:
    """The executions and scores of an episode with these actions, its APIs answered by the generator."""
    executions, _, run = play([*actions], task, {"answers": "synthetic"})
    return executions, list(benchmark.score(task, EpisodeResult(None, "no_answer", run.actions)))
