"""Finds ambiguous operands: operands whose number may come from several sources."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from lumos_queue.notation import replace_variables, variables_in
from lumos_queue.rationales.maths.constants import find_constants
from lumos_queue.rationales.maths.question_numbers import question_numbers
from lumos_queue.records import AnnotatedSubgoal
from lumos_queue.scoring.numerals import numbers_in
from lumos_queue.scoring.numeric import read_number

_ARITHMETIC = re.compile(r"[\s\d.,+\-*/()%$=]*")
#: `1 * 1 / R3`: a fraction's denominator is more likely a literal.
_DENOMINATOR = re.compile(r"(?<![\w.])1\s*/\s*(R[0-9]+)")


def ambiguous_operands(steps: Sequence[AnnotatedSubgoal], question: str, rationale: str = "") -> list[str]:
    """Return the ambiguous operands of the actions: references and literals.

    A reference is ambiguous if it divides 1, or if its value equals another result, a number of the question or a
    constant; a literal, if it equals an earlier result. `rationale`: another text that may imply constants.
    """
    stated_numbers, values = question_numbers(question).numbers, {}
    operands = []
    for step in steps:
        literal = stated_numbers | find_constants(f"{question} {rationale or step.subgoal.text}")
        for action, result in zip(step.actions, step.results, strict=True):
            under = _DENOMINATOR.findall(action.arguments)
            for variable in variables_in(action.arguments):
                value = values.get(variable)
                if value is not None and (value in literal or variable in under or _count_equal(value, values) > 1):
                    operands.append(variable)
            rest = replace_variables(action.arguments, lambda _: " ")
            if _ARITHMETIC.fullmatch(rest):
                operands += [str(literal) for literal in numbers_in(rest) if _count_equal(literal, values)]
            parts = result.split(", ") if len(action.variables) > 1 else [result]
            values |= {v: read_number(part) for v, part in zip(action.variables, parts, strict=False)}
    return operands


def _count_equal(value: Fraction, values: dict[str, Fraction | None]) -> int:
    """Return the number of earlier results with this value."""
    return sum(earlier == value for earlier in values.values())
