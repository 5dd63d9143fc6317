"""Formulations by name, with the roles that each asks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from lumos_queue.errors import unknown
from lumos_queue.formulations.caption import caption
from lumos_queue.formulations.cot import cot
from lumos_queue.formulations.direct import direct
from lumos_queue.formulations.integrated import integrated
from lumos_queue.formulations.iterative import iterative
from lumos_queue.formulations.one_pass import one_pass
from lumos_queue.formulations.teacher_forced import teacher_forced

FORMULATIONS = {
    "iterative": iterative, "one-pass": one_pass, "cot": cot, "direct": direct, "integrated": integrated,
    "caption": caption, "teacher-forced": teacher_forced,
}  # fmt: skip
#: Of all of them: what changed with each is said where it changed. A job goes on by the version that it began with.
VERSION = 2
#: Those that changed. The others run no actions, or act as the dataset says.
VERSIONED = ("iterative", "one-pass", "integrated")
#: Who is asked: planner and grounder, or one model alone, whose role is 'solver', or who describes the image.
ROLES = {
    "iterative": ("planner", "grounder"), "one-pass": ("planner", "grounder"), "cot": ("solver",),
    "direct": ("solver",), "integrated": ("solver",), "caption": ("captioner",),
    "teacher-forced": ("planner", "grounder"),
}  # fmt: skip
#: Those whose conversations a gold solution says in full, so that a model can be trained on them.
TRAINABLE = ("iterative", "one-pass", "cot", "direct", "integrated")
#: Those that run no actions, and so need no tools.
UNEXECUTED = ("cot", "direct", "caption")


def formulation(name: str, version: int = VERSION) -> Callable:
    """The generator function called `name`, as it was in that version. Raises SpecError listing the choices."""
    if name not in FORMULATIONS:
        raise unknown("formulation", name, FORMULATIONS)
    return partial(FORMULATIONS[name], version=version) if name in VERSIONED else FORMULATIONS[name]


def roles(name: str) -> tuple[str, ...]:
    """The roles that the formulation called `name` asks. Raises SpecError listing the choices."""
    formulation(name)
    return ROLES[name]
