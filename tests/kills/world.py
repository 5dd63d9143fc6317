"""A search in a generated world: it meets a trap and a rate limit, goes back and answers. The task has its replies."""

from __future__ import annotations

from dataclasses import replace

from experiments.toolworld.memory_run import run_once
from experiments.toolworld.policies import Policies
from lumos_queue.benchmarks.toolworld.benchmark import benchmark
from lumos_queue.commands import Ask
from lumos_queue.limits import Limits
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Completion, Ending, Task

SPLIT = "I2-inst"
LIMITS = Limits(calls=60)
DIALS = {"parts": "2", "links": "2", "faults": "1", "traps": "1", "unsolvable": "0"}
SIGNS = ("is locked", "too many requests")


def find_world_search() -> tuple[Task, Agent]:
    """Return the first task of the split on which an erring policy meets both. Raises StopIteration without one."""
    models = Policies(0, 0.3)
    for task in benchmark.read(None, SPLIT, **DIALS):
        assert isinstance(task, Task)
        run, journal = run_once(task, "dfsdt", models, LIMITS)
        observations = [execution.result for _, execution in run.actions]
        if run.outcome.ending == Ending.ANSWERED and all(
            any(sign in observation for observation in observations) for sign in SIGNS
        ):
            steps = [step for step in journal.steps if isinstance(step.command, Ask)]
            replies = [step.result.text for step in steps if isinstance(step.result, Completion)]
            task_with_replies = replace(task, inputs={**task.inputs, "given": {"policy": replies}})
            return task_with_replies, Agent({}, "tools", limits=LIMITS)
    raise StopIteration(f"no task of {SPLIT} has both")
