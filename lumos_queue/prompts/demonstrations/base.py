"""A solved example of a domain, as planner and grounder are shown it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A task with its steps: (subgoal with its label, the grounder's line, the result as the planner is told it)."""

    task: str
    steps: Sequence[tuple[str, str, str]]


def demonstrations(domain: str) -> Sequence[Demonstration]:
    """Those of a domain that has some (Domain.few_shot)."""
    return import_module(f"lumos_queue.prompts.demonstrations.{domain}").DEMONSTRATIONS
