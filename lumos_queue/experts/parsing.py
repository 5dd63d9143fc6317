"""Read a plan from a model's reply. Every reply can be read. Steps that name no expert are listed, not guessed.

A reply in wire form, `(A,B,)(C,)J,D,`, is read as such. Any other reply is a list of steps. A step is the text after a
mark such as `Step 2:`, `2.` or `-`. Without marks, each line is a step; a single line is split at commas, semicolons,
arrows and brackets. Each step gives one expert, the first that it mentions. Steps of a task with several inputs are
assigned to branches by rule (branches.py).

The time is proportional to the length of the reply.
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
UNBALANCED = "brackets that are not those of branches"  #: an issue of the whole reply, not of a step
MAX_SHOWN = 200  #: characters of a step that are stored

FindName = Callable[[str], str]  #: text of a step → name of the expert; '': none


@dataclass(frozen=True, slots=True)
class ParsedPlan:
    """The plan that a reply contains, and problems of the reply."""

    plan: Plan
    unresolved: tuple[str, ...] = ()  #: steps that name no expert
    issues: tuple[str, ...] = ()  #: other problems, as text for a person


def parse_plan(text: str, signature: Signature | None = None, find: FindName = find_name) -> ParsedPlan:
    """Return the plan of a reply. Never raises. `find` maps the text of a step to the name of its expert.

    A list of steps becomes a sequence, or branches if the signature has several inputs.
    """
    if (wire := _read_wire(text, find)) is not None:
        return wire
    issues = (UNBALANCED,) if _is_unbalanced(text) else ()
    steps, unresolved_steps = [], []
    for piece in _split(text):
        if name := find(piece):
            steps.append(PlanStep(name, piece[:MAX_SHOWN]))
        elif any(map(str.isalnum, piece)):
            unresolved_steps.append(piece[:MAX_SHOWN])
    if signature is not None and len(signature.inputs) > 1:
        return ParsedPlan(assign_branches(steps, signature), tuple(unresolved_steps), issues)
    return ParsedPlan(Plan((), tuple(step.name for step in steps)), tuple(unresolved_steps), issues)


def _read_wire(text: str, find: FindName) -> ParsedPlan | None:
    """Return the plan of a reply in wire form; None unless a branch of it is empty or names an expert."""
    if not _WIRE.fullmatch(text.strip()):
        return None
    wire_plan = read_wire(text)
    if all(branch and not any(map(exact_name, branch)) for branch in wire_plan.branches):
        return None  # such as '(1) Image Denoising'
    unresolved_names = []

    def resolve(names: tuple[str, ...]) -> tuple[str, ...]:
        pairs = [(words, find(words)) for words in names]
        unresolved_names.extend(words[:MAX_SHOWN] for words, name in pairs if not name)
        return tuple(name for _, name in pairs if name)

    plan = Plan(tuple(map(resolve, wire_plan.branches)), resolve(wire_plan.tail))
    return ParsedPlan(plan, tuple(unresolved_names))


def _split(text: str) -> list[str]:
    """Return the steps of a reply, without their marks."""
    marks = list(_MARK.finditer(text))
    if marks:
        ends = [*(mark.start() for mark in marks[1:]), len(text)]
        pieces = [text[mark.end() : end] for mark, end in zip(marks, ends, strict=True)]
        return [first for part in pieces if (first := part.strip().partition("\n")[0].strip())]
    lines = [line for raw_line in text.splitlines() if (line := _MODULE.sub("", raw_line).strip())]
    if len(lines) == 1:
        return [piece for part in _PIECES.split(lines[0]) if (piece := part.strip())]
    return lines


def _is_unbalanced(text: str) -> bool:
    return text.count("(") != text.count(")")
