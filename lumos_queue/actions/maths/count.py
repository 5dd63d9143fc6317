"""The action Count: the length of a list, a list variable, or an arithmetic progression such as `1, 4, ..., 22`."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import pairwise

from lumos_queue.actions.algebra.formula import read
from lumos_queue.actions.algebra.kinds import failure
from lumos_queue.episode import Variables

_DOTS = re.compile(r"\.{2,}|…")


def count(text: str, variables: Variables) -> int:
    """Return the number of elements of the list in `text`. Raises ActionError."""
    text = text.strip().strip("[]{}").strip()
    if text in variables:
        value = variables[text]
        return len(value["items"]) if "items" in value else 1
    elements = [element.strip() for element in text.split(", " if ", " in text else ",")]
    elements = [element for element in elements if element]
    for element in elements:
        if re.fullmatch(r"R[0-9]+", element) and element not in variables:
            raise failure("undefined_variable", f"{element} has not been set")
    if not elements:
        raise failure("arity", "Count needs a list, for example: Count(2, 4, 6)")
    dots = [i for i, element in enumerate(elements) if _DOTS.fullmatch(element)]
    if not dots:
        return len(elements)
    if len(dots) > 1 or dots[0] == 0 or dots[0] == len(elements) - 1:
        raise failure("syntax", "write a progression as: 1, 4, ..., 22")
    return _progression(
        [_number(e, variables) for e in elements[: dots[0]]], [_number(e, variables) for e in elements[dots[0] + 1 :]]
    )


def _progression(before: list[Fraction], after: list[Fraction]) -> int:
    first, last = before[0], after[-1]
    step = before[1] - first if len(before) > 1 else Fraction(1 if last >= first else -1)
    if step == 0:
        raise failure("syntax", "a progression's numbers must differ")
    steps = (last - first) / step
    whole = steps.denominator == 1 and steps >= len(before) + len(after) - 2
    even = all(b - a == step for part in (before, after) for a, b in pairwise(part))
    if not (whole and even):
        raise failure("not_a_number", "the numbers are no arithmetic progression")
    return int(steps) + 1


def _number(text: str, variables: Variables) -> Fraction:
    nodes, _ = read(text, variables)
    if len(nodes) != 1 or not isinstance(nodes[0], Fraction):
        raise failure("not_a_number", f"{text[:40]!r} is not a number")
    return nodes[0]
