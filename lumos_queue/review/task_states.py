"""Rebuild the state of a router before each decision from the stored steps, because no state is stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from db.journal.step_records import RecordedStep
from lumos_queue.commands import KEPT_DIGITS, Ask
from lumos_queue.errors import SpecError
from lumos_queue.formulations.base import VERSION
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.formulations.state_keeping import StateKeeping
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.jobs.registry import read_job
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.task_state import TaskState
from lumos_queue.records import Task
from lumos_queue.util.exchange import Exchange


def rebuild_states(
    state: StateKeeping, task: Task, agent: Agent, steps: Sequence[RecordedStep], version: int = VERSION
) -> list[tuple[int, TaskState]]:
    """Return (position of the router's call, state before this call) for each call of the router among the steps.

    `version`: that of the formulation in the episode's job. Raises SpecError if the commands differ from the steps,
    because other code recorded these.
    """
    recorded_steps = {(step.position, step.branch): step for step in steps}
    all_states: list[TaskState] = []
    states: list[tuple[int, TaskState]] = []
    exchange = Exchange(state.run(task.without_gold(), agent, all_states.append, version))
    for position, command in enumerate(exchange):
        assert not isinstance(command, list), "an agent that keeps a state does one thing at a time"
        if isinstance(command, Ask) and len(all_states) > len(states):
            states.append((position, all_states[-1]))
        step = recorded_steps.get((position, 0))
        if step is None:
            break
        if step.command != command.digest[:KEPT_DIGITS]:
            raise SpecError(f"The states of this episode cannot be rebuilt: other code recorded step {position}.")
        exchange.reply = step.result
    return states


def read_stateful_agent(kind: str, spec: dict[str, Any]) -> tuple[Agent, StateKeeping]:
    """Return the agent of a stored job, and how its state is restored. Raises SpecError if it keeps no state."""
    job = read_job(kind, spec)
    inference = job.infer if isinstance(job, Evaluate) else job
    formulation = FORMULATIONS.find(inference.formulation) if isinstance(inference, Infer) else None
    if not isinstance(inference, Infer) or formulation is None or formulation.state is None:
        raise SpecError("Only episodes of a formulation that keeps a state, as sum2act, have one: leave out --state.")
    return inference.agent, formulation.state
