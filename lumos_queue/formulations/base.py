"""A formulation: the order in which planning, grounding and executing take turns, and what follows from that order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from lumos_queue.commands import Commands
from lumos_queue.episode import Generate
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Outcome, Task

#: Of all formulations: what changed with each version is said where it changed. A job keeps the version it began with.
VERSION = 2


@dataclass(frozen=True, slots=True)
class Formulation:
    """One object for each formulation. Called with a task and an agent, it gives the generator of an episode."""

    name: str
    generator: Callable[..., Commands[Outcome]]  #: gets a task, an agent and, if `versioned`, the version
    roles: tuple[str, ...]  #: that it asks: planner and grounder, or one model alone, the solver or the captioner
    executes: bool = True  #: whether it runs actions, and so may need tools
    trainable: bool = True  #: whether a gold solution gives its conversations in full
    limited: bool = False  #: whether it stops at the agent's limit of subgoals
    demonstrated: bool = False  #: whether the demonstrations of a domain show it
    versioned: bool = False  #: whether its versions differ
    expected_calls: Callable[[int, int], int] | None = None  #: model calls, from subgoals and their limit, if fixed

    def __call__(self, task: Task, agent: Agent) -> Commands[Outcome]:
        return self.generator(task, agent)

    def at_version(self, version: int) -> Generate[Agent]:
        """The formulation as it was in that version."""
        return partial(self.generator, version=version) if self.versioned else self.generator
