"""Formulations by name, with the roles that each asks."""

from __future__ import annotations

from collections.abc import Callable

from lumos_queue.errors import unknown
from lumos_queue.formulations.cot import cot
from lumos_queue.formulations.direct import direct
from lumos_queue.formulations.integrated import integrated
from lumos_queue.formulations.iterative import iterative
from lumos_queue.formulations.one_pass import one_pass

FORMULATIONS = {
    "iterative": iterative, "one-pass": one_pass, "cot": cot, "direct": direct, "integrated": integrated,
}  # fmt: skip
#: Who is asked: planner and grounder, or one model alone, whose role is 'solver'.
ROLES = {
    "iterative": ("planner", "grounder"), "one-pass": ("planner", "grounder"), "cot": ("solver",),
    "direct": ("solver",), "integrated": ("solver",),
}  # fmt: skip


def formulation(name: str) -> Callable:
    """The generator function called `name`. Raises SpecError listing the choices."""
    if name not in FORMULATIONS:
        raise unknown("formulation", name, FORMULATIONS)
    return FORMULATIONS[name]


def roles(name: str) -> tuple[str, ...]:
    """The roles that the formulation called `name` asks. Raises SpecError listing the choices."""
    formulation(name)
    return ROLES[name]
