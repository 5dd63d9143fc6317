"""From a model's reply to a plan. Reading is total: what names no expert is kept and counted, never guessed.

A reply in wire form, `(A,B,)(C,)J,D,`, is read as such. Any other is a list of steps: what follows each mark such as
`PlanStep 2:`, `2.` or `-`; without marks its lines, and of a single line what is between commas, semicolons, arrows and
brackets. Each step gives one expert, the first that it mentions. Steps of a task with several inputs are given to
branches by rule (branches.py).

Time is linear in the reply.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from lumos_queue.experts.branches import PlanStep, assign_branches
from lumos_queue.experts.names import exact_name, find_name
from lumos_queue.experts.plans import Plan, Signature, read_wire

_WIRE = re.compile(r"(?:\([^()\n]*+\)[ \t]*+)++[^()\n]*+")
_MARK = re.compile(
    r"(?:^|(?<=\n))[ \t>*#]{0,8}(?:step[ \t]{0,3}#?\d{0,3}[ \t]{0,3}[:.)\-]|\(?\d{1,3}[.):]|[-•*](?=[ \t]))"
    r"|\bstep[ \t]{1,3}\d{1,3}[ \t]{0,3}[:.)]",
    re.IGNORECASE,
)
_PIECES = re.compile(r"[,;()\[\]>→⇒]+|->")
_MODULE = re.compile(r"^[ \t]*(?:module|model|plan|solution)[ \t]*:", re.IGNORECASE)
UNBALANCED = "brackets that are not those of branches"  #: of a reply as a whole: no step
MAX_SHOWN = 200  #: characters that are kept of a step

FindName = Callable[[str], str]  #: from a step's text to the expert's name; '': none


@dataclass(frozen=True, slots=True)
class ParsedPlan:
    """What was read of a reply."""

    plan: Plan
    unresolved: tuple[str, ...] = ()  #: steps that name no expert
    issues: tuple[str, ...] = ()  #: what else a person should know


def parse_plan(text: str, signature: Signature | None = None, find: FindName = find_name) -> ParsedPlan:
    """The plan that a reply states; never raises. `find` names the expert of a step.

    Without a signature, and for tasks of one input, a list of steps is a sequence.
    """
    if (wire := _read_wire(text, find)) is not None:
        return wire
    issues = (UNBALANCED,) if _unbalanced(text) else ()
    steps, unresolved = [], []
    for piece in _split(text):
        if name := find(piece):
            steps.append(PlanStep(name, piece[:MAX_SHOWN]))
        elif any(map(str.isalnum, piece)):
            unresolved.append(piece[:MAX_SHOWN])
    if signature is not None and len(signature.inputs) > 1:
        return ParsedPlan(assign_branches(steps, signature), tuple(unresolved), issues)
    return ParsedPlan(Plan((), tuple(one.name for one in steps)), tuple(unresolved), issues)


def _read_wire(text: str, find: FindName) -> ParsedPlan | None:
    """The plan of a reply in wire form, if one of its branches is empty or names an expert; else None."""
    if not _WIRE.fullmatch(text.strip()):
        return None
    written = read_wire(text)
    if all(branch and not any(map(exact_name, branch)) for branch in written.branches):
        return None  # such as '(1) Image Denoising'
    unresolved = []

    def resolve(names: tuple[str, ...]) -> tuple[str, ...]:
        found = [(one, find(one)) for one in names]
        unresolved.extend(one[:MAX_SHOWN] for one, name in found if not name)
        return tuple(name for _, name in found if name)

    plan = Plan(tuple(map(resolve, written.branches)), resolve(written.tail))
    return ParsedPlan(plan, tuple(unresolved))


def _split(text: str) -> list[str]:
    """The steps of a reply, without their marks."""
    marks = list(_MARK.finditer(text))
    if marks:
        ends = [*(one.start() for one in marks[1:]), len(text)]
        pieces = [text[mark.end() : end] for mark, end in zip(marks, ends, strict=True)]
        return [first for one in pieces if (first := one.strip().partition("\n")[0].strip())]
    lines = [line for one in text.splitlines() if (line := _MODULE.sub("", one).strip())]
    if len(lines) == 1:
        return [piece for one in _PIECES.split(lines[0]) if (piece := one.strip())]
    return lines


def _unbalanced(text: str) -> bool:
    return text.count("(") != text.count(")")
