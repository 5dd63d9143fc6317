"""Compares the result of an executed action with the result that the annotation states."""

from __future__ import annotations

import re
from fractions import Fraction

from lumos_queue.records import Execution
from lumos_queue.scoring.numeric import close, read_number

_DECIMAL = re.compile(r"(?<![0-9,]),*+[0-9][0-9,]*\.([0-9]+)")
_SYMBOLIC = frozenset(("expression", "equation", "inequality", "text"))


def matches_stated(execution: Execution, stated_result: str) -> bool | None:
    """Return whether the action gave the stated result; None for formulas or texts that differ but may be equivalent.

    Numbers are compared in the precision of the stated number: 10/3 is 3.33. Lists are compared part by part.
    """
    stated_result = stated_result.strip().rstrip(".").strip()
    if _normalize(execution.result) == _normalize(stated_result):
        return True
    parts, stated_parts = execution.result.split(", "), stated_result.split(", ")
    pairs = [
        (read_number(part), read_number(stated_part), stated_part)
        for part, stated_part in zip(parts, stated_parts, strict=False)
    ]
    if len(parts) == len(stated_parts) and all(
        number is not None and stated_number is not None for number, stated_number, _ in pairs
    ):
        return all(_is_near(number, stated_number, text) for number, stated_number, text in pairs)  # type: ignore[arg-type]
    return None if any(value.get("kind") in _SYMBOLIC for value in execution.values) else False


def _is_near(number: Fraction, stated_number: Fraction, text: str) -> bool:
    if close(number, stated_number):
        return True
    decimals = _DECIMAL.search(text)
    return decimals is not None and abs(number - stated_number) <= Fraction(1, 2 * 10 ** len(decimals[1]))


def _normalize(text: str) -> str:
    return re.sub(r"[\s*()]", "", text.casefold()).rstrip(".")
