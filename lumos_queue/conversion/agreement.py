"""Decides whether two annotations agree: they have the same formulas and links, in any order of steps and wording."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from lumos_queue.commands import digest
from lumos_queue.notation import replace_variables
from lumos_queue.rationales.maths.evident_links import order_operands
from lumos_queue.rationales.maths.expressions import parse_arguments
from lumos_queue.records import Action, AnnotatedSubgoal

_SPACE = re.compile(r"\s+")


def identify_formulas(steps: Sequence[AnnotatedSubgoal]) -> tuple[str, ...]:
    """Return texts that identify the formulas of an annotation's actions with their links; the last is the answer's.

    The names of variables, the order of sums and products, and the order of independent steps do not matter.
    """
    digests: dict[str, str] = {}  # of the formulas that set the variables
    formulas: list[str] = []
    for action in (action for step in steps for action in step.actions):
        formula = digest(action.name, _write_formula(action, digests))
        formulas.append(formula)
        digests |= {variable: digest(formula, str(index)) for index, variable in enumerate(action.variables)}
    return (*sorted(set(formulas)), formulas[-1]) if formulas else ()


def _write_formula(action: Action, digests: Mapping[str, str]) -> str:
    """Return the arguments with digests in place of variables, in an order that equal formulas share."""
    expression = parse_arguments(action.arguments) if action.name == "Calculator" else None
    if expression is None:
        text = replace_variables(action.arguments, lambda name: digests.get(name, name))
        return _SPACE.sub(" ", text).strip().casefold()
    return order_operands(expression, lambda number: digests.get(f"R{number}", f"R{number}"))
