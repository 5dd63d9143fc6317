"""Plans of experts, their wire form, and what a task asks of one.

A,B,            a sequence: A's output is B's input
(A,B,)(C,)J,D,  a branch for each input of the task, in their order; J joins them. () leaves its input as it is
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lumos_queue.experts.base import Kind, Slot

MAX_MODULES = 10  #: experts one after another: of the longest branch and the tail
_WIRE = re.compile(r"(?:\([^()]*+\)\s*+)*+[^()]*+")


@dataclass(frozen=True, slots=True)
class Plan:
    """Names of experts in the order in which they run. The names need not be known, nor the plan be feasible."""

    branches: tuple[tuple[str, ...], ...] = ()  #: () where the plan is a sequence
    tail: tuple[str, ...] = ()  #: with branches: the join and what follows it; else all of it

    def write(self) -> str:
        """The wire form."""
        return "".join(f"({_write(branch)})" for branch in self.branches) + _write(self.tail)

    @property
    def names(self) -> tuple[str, ...]:
        """All its names in the order in which they are written."""
        return (*(name for branch in self.branches for name in branch), *self.tail)


@dataclass(frozen=True, slots=True)
class Signature:
    """What goes into a task and what is to come out."""

    inputs: tuple[Slot, ...]  #: its channels in their order
    output: Kind


def read_wire(text: str) -> Plan:
    """The plan that `Plan.write` wrote; names are taken as they are. Raises ValueError for anything else."""
    text = text.strip()
    if not _WIRE.fullmatch(text):
        raise ValueError(f"not the wire form of a plan, such as '(A,B,)(C,)J,': '{text[:80]}'")
    *branches, tail = text.split(")")
    return Plan(tuple(_read(one.strip()[1:]) for one in branches), _read(tail))


def _write(names: tuple[str, ...]) -> str:
    return "".join(f"{name}," for name in names)


def _read(text: str) -> tuple[str, ...]:
    return tuple(name for one in text.split(",") if (name := one.strip()))
