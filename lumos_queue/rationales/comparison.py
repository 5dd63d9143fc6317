"""Compares the result of an executed action with the result that the annotation states."""

from __future__ import annotations

import re
from fractions import Fraction

from lumos_queue.records import Execution
from lumos_queue.scoring.numeric import close, read_number

_DECIMAL = re.compile(r"(?<![0-9,]),*+[0-9][0-9,]*\.([0-9]+)")
_SYMBOLIC = frozenset(("expression", "equation", "inequality", "text"))


def matches_stated(execution: Execution, stated: str) -> bool | None:
    """Whether the action gave the stated result; None for formulas or texts that differ but may mean the same.

    Numbers are compared to the stated precision: 3.33 is 10/3. Lists are compared part by part.
    """
    stated = stated.strip().rstrip(".").strip()
    if _normalize(execution.result) == _normalize(stated):
        return True
    given, wanted = execution.result.split(", "), stated.split(", ")
    pairs = [(read_number(one), read_number(other), other) for one, other in zip(given, wanted, strict=False)]
    if len(given) == len(wanted) and all(one is not None and other is not None for one, other, _ in pairs):
        return all(_is_near(one, other, text) for one, other, text in pairs)  # type: ignore[arg-type]
    return None if any(value.get("kind") in _SYMBOLIC for value in execution.values) else False


def _is_near(given: Fraction, stated: Fraction, text: str) -> bool:
    if close(given, stated):
        return True
    decimals = _DECIMAL.search(text)
    return decimals is not None and abs(given - stated) <= Fraction(1, 2 * 10 ** len(decimals[1]))


def _normalize(text: str) -> str:
    return re.sub(r"[\s*()]", "", text.casefold()).rstrip(".")
