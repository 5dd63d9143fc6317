"""Finds actions that only state a number that they should calculate: `R2 = Calculator(6)` for half of a dozen.

An action may state a number of the question, in figures or words, the result of an earlier action, or a constant that
words of the question or of the action's subgoal imply: `Define(60)` for the minutes of an hour.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from lumos_queue.rationales.maths.constants import find_constants
from lumos_queue.rationales.maths.question_numbers import question_numbers
from lumos_queue.records import Action, AnnotatedSubgoal
from lumos_queue.scoring.numeric import read_number

_STATING = frozenset(("Calculator", "Define", "SetEquation"))
_UNKNOWN = re.compile(r"(?:(?<!\s)\s++)?[A-Za-z]\s*=(?!=)|=\s*[A-Za-z]\s*\Z")  #: `x = 6` and `6 = x` only state `6`


def find_copied_numbers(steps: Sequence[AnnotatedSubgoal], question: str) -> list[Action]:
    """Return the actions that only state a number, if no earlier text or result contains or implies the number."""
    known_numbers = set(question_numbers(question).numbers)
    copies = []
    for step in steps:
        constants = find_constants(f"{question} {step.subgoal.text}")
        for action, result in zip(step.actions, step.results, strict=True):
            number = _constant_of(action)
            if number is not None and abs(number) not in known_numbers and abs(number) not in constants:
                copies.append(action)
            known_numbers.update(abs(value) for part in result.split(", ") if (value := read_number(part)) is not None)
    return copies


def _constant_of(action: Action) -> Fraction | None:
    """Return the number in an action's arguments; None if the arguments are more than a number."""
    if action.name not in _STATING:
        return None
    text = _UNKNOWN.sub("", action.arguments) if action.name == "SetEquation" else action.arguments
    return read_number(text.strip("() ")) if "/" not in text else None
