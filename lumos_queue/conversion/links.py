"""Operands that may as well be another value: noted, as nobody can tell from the numbers alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from lumos_queue.benchmarks.numerals import numbers_in
from lumos_queue.benchmarks.numeric import read_number
from lumos_queue.notation import replace_variables, variables_in
from lumos_queue.records import AnnotatedSubgoal

_ARITHMETIC = re.compile(r"[\s\d.,+\-*/()%$=]*")


def ambiguous_operands(steps: Sequence[AnnotatedSubgoal], question: str) -> list[str]:
    """References whose value another result or the question also has, and literals that equal an earlier result."""
    stated, values = set(numbers_in(question, words=True)), {}
    found = []
    for step in steps:
        for action, result in zip(step.actions, step.results, strict=True):
            for variable in variables_in(action.arguments):
                value = values.get(variable)
                if value is not None and (value in stated or _held(value, values) > 1):
                    found.append(variable)
            rest = replace_variables(action.arguments, lambda _: " ")
            if _ARITHMETIC.fullmatch(rest):
                found += [str(literal) for literal in numbers_in(rest) if _held(literal, values)]
            parts = result.split(", ") if len(action.variables) > 1 else [result]
            values |= {v: read_number(part) for v, part in zip(action.variables, parts, strict=False)}
    return found


def _held(value: Fraction, values: dict[str, Fraction | None]) -> int:
    """How many earlier results have the value."""
    return sum(one == value for one in values.values())
