"""Plans of experts, their wire form, and the signatures of tasks.

A,B,            a sequence: A's output is B's input
(A,B,)(C,)J,D,  a branch for each input of the task, in order; J joins the branches. () leaves its input as it is
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lumos_queue.experts.base import Kind, Slot

MAX_MODULES = 10  #: limit of experts one after another, in the longest branch and the tail together
_WIRE = re.compile(r"(?:\([^()]*+\)\s*+)*+[^()]*+")


@dataclass(frozen=True, slots=True)
class Plan:
    """Names of experts in the order in which they run. Names may be unknown, and the plan may be infeasible."""

    branches: tuple[tuple[str, ...], ...] = ()  #: () for a sequence
    tail: tuple[str, ...] = ()  #: with branches: the join and the names after it; without: the whole sequence

    def write(self) -> str:
        """Return the plan in wire form, such as `(A,B,)(C,)J,D,`."""
        return "".join(f"({_write(branch)})" for branch in self.branches) + _write(self.tail)

    @property
    def names(self) -> tuple[str, ...]:
        """All names of experts, in the order of the wire form."""
        return (*(name for branch in self.branches for name in branch), *self.tail)


@dataclass(frozen=True, slots=True)
class Signature:
    """The inputs and the output of a task."""

    inputs: tuple[Slot, ...]  #: its channels in their order
    output: Kind


def read_wire(text: str) -> Plan:
    """Return the plan of a text in wire form. Names are not checked. Raises ValueError for any other text."""
    text = text.strip()
    if not _WIRE.fullmatch(text):
        raise ValueError(f"not the wire form of a plan, such as '(A,B,)(C,)J,': '{text[:80]}'")
    *branches, tail = text.split(")")
    return Plan(tuple(_read(branch.strip()[1:]) for branch in branches), _read(tail))


def _write(names: tuple[str, ...]) -> str:
    return "".join(f"{name}," for name in names)


def _read(text: str) -> tuple[str, ...]:
    return tuple(name for part in text.split(",") if (name := part.strip()))
