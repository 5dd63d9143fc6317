"""Finds results of a subgoal's actions that the subgoal's text reveals.

A result that is a number is revealed if the text contains it in digits or as words. Necessary numbers do not count:
those in the label, in a reference to a subgoal or a result, and operands of the subgoal's actions (`Multiply 36 by 1`).
The word `one` is usually not a number and is ignored. A result that is a text is revealed if the subgoal contains it as
whole words, unless the task or an operand contains these words, too (`Which is taller, A or B?`).
"""

from __future__ import annotations

import re
from fractions import Fraction

from lumos_queue.notation import replace_variables, strip_label
from lumos_queue.records import AnnotatedSubgoal
from lumos_queue.scoring.numerals import numbers_in
from lumos_queue.scoring.numeric import read_number

#: A reference to a subgoal or a result, which needs a number.
_REFERENCE = re.compile(r"\bsubgoals? \d+(?:(?:,| and|, and) \d+)*|\b(?:result|step) \d+\b", re.IGNORECASE)
_ONE = re.compile(r"\bone\b", re.IGNORECASE)
_SHORT = frozenset(("yes", "no", "true", "false"))


def results_stated(step: AnnotatedSubgoal, question: str) -> list[str]:
    """Return the results of the subgoal that its text reveals, as they are written in `step.results`."""
    text = _REFERENCE.sub(" ", strip_label(step.subgoal.text))
    operands = " ".join(replace_variables(action.arguments, lambda _: " ") for action in step.actions)
    numbers = set(numbers_in(_ONE.sub(" ", text), words=True)) - set(numbers_in(operands, words=True))
    stated_results = []
    for result in filter(None, map(_plain, step.results)):
        value = read_number(result)
        if value is None:
            is_stated = _occurs(result, text) and not _occurs(result, question) and not _occurs(result, operands)
        else:
            is_stated = value in numbers or (
                value.denominator > 1 and _is_written(value, text) and not _is_written(value, operands)
            )
        if is_stated:
            stated_results.append(result)
    return stated_results


def _plain(result: str) -> str:
    return result.strip().rstrip(".").strip()


def _is_written(value: Fraction, text: str) -> bool:
    """Return whether the text contains the fraction in the form `3/5`."""
    return re.search(rf"(?<![\d/]){value.numerator}\s*/\s*{value.denominator}(?![\d/])", text) is not None


def _occurs(result: str, text: str) -> bool:
    folded_result = " ".join(result.casefold().split())
    if folded_result in _SHORT or len(folded_result) < 2:
        return False
    return re.search(rf"(?<!\w){re.escape(folded_result)}(?!\w)", " ".join(text.casefold().split())) is not None
