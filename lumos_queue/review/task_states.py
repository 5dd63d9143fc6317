"""What the router of Sum2Act knew before each decision: made again from the stored steps, as it is not stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from db.step_records import RecordedStep
from lumos_queue.commands import KEPT_DIGITS, Ask
from lumos_queue.errors import SpecError
from lumos_queue.formulations.base import VERSION
from lumos_queue.formulations.sum2act import sum2act
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.jobs.registry import read_job
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.task_state import TaskState
from lumos_queue.records import Task
from lumos_queue.util.exchange import Exchange


def rebuild_states(
    task: Task, agent: Agent, steps: Sequence[RecordedStep], version: int = VERSION
) -> list[tuple[int, TaskState]]:
    """(position of the router's call, state before it), as far as the steps go.

    `version`: of the formulation of the episode's job.
    Raises SpecError where the steps were recorded by other code, whose commands differ.
    """
    recorded = {(step.position, step.branch): step for step in steps}
    seen: list[TaskState] = []
    found: list[tuple[int, TaskState]] = []
    exchange = Exchange(sum2act(task.without_gold(), agent, seen.append, version))
    for position, wanted in enumerate(exchange):
        assert not isinstance(wanted, list), "Sum2Act does one thing at a time"
        if isinstance(wanted, Ask) and len(seen) > len(found):
            found.append((position, seen[-1]))
        step = recorded.get((position, 0))
        if step is None:
            break
        if step.command != wanted.digest[:KEPT_DIGITS]:
            raise SpecError(f"The states of this episode cannot be made again: other code recorded step {position}.")
        exchange.reply = step.result
    return found


def agent_of(kind: str, spec: dict[str, Any]) -> Agent:
    """The agent of a stored job. Raises SpecError for a job of another kind than infer and evaluate."""
    job = read_job(kind, spec)
    inference = job.infer if isinstance(job, Evaluate) else job
    if not isinstance(inference, Infer) or inference.formulation != "sum2act":
        raise SpecError("Only episodes of the formulation sum2act have a state: leave out --state.")
    return inference.agent
