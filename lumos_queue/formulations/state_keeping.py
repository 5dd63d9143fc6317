"""What a formulation says about a state of the task that it keeps, and that no step stores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from lumos_queue.commands import Commands
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.task_state import TaskState
from lumos_queue.records import Outcome, Task


@dataclass(frozen=True, slots=True)
class StateKeeping:
    """How a state is restored and judged. The role `router` decides by it, `state_manager` records calls in it."""

    #: The generator of an episode, which calls its third argument with the state before each decision. The fourth
    #: argument is the version of the formulation.
    run: Callable[[Task, Agent, Callable[[TaskState], None], int], Commands[Outcome]]
    #: Whether a call of this status is recorded without asking the state manager, in a version of the formulation.
    is_recorded_alone: Callable[[str, int], bool]
