"""Whether a subgoal gives away what comes out of its actions.

A number gives a result away when it equals it, in figures or in words; except where it must stand: in the label, in a
reference to a subgoal or one of its results, and as an operand of the subgoal's own actions (`Multiply 36 by 1`). The
word `one` mostly counts nothing and is passed over. A text gives a result away when it holds it as whole words; except
where the task or an operand of the subgoal's own actions holds them too (`Which is taller, A or B?`).
"""

from __future__ import annotations

import re
from fractions import Fraction

from lumos_queue.notation import replace_variables, unlabelled
from lumos_queue.records import AnnotatedSubgoal
from lumos_queue.scoring.numerals import numbers_in
from lumos_queue.scoring.numeric import read_number

_REFERENCE = re.compile(r"\bsubgoals? \d+(?:(?:,| and|, and) \d+)*|\b(?:result|step) \d+\b", re.IGNORECASE)
_ONE = re.compile(r"\bone\b", re.IGNORECASE)
_SHORT = frozenset(("yes", "no", "true", "false"))


def results_stated(step: AnnotatedSubgoal, question: str) -> list[str]:
    """The results that the subgoal's text states, as they are written."""
    text = _REFERENCE.sub(" ", unlabelled(step.subgoal.text))
    operands = " ".join(replace_variables(action.arguments, lambda _: " ") for action in step.actions)
    numbers = set(numbers_in(_ONE.sub(" ", text), words=True)) - set(numbers_in(operands, words=True))
    found = []
    for result in filter(None, map(_plain, step.results)):
        value = read_number(result)
        if value is None:
            stated = _occurs(result, text) and not _occurs(result, question) and not _occurs(result, operands)
        else:
            stated = value in numbers or (
                value.denominator > 1 and _is_written(value, text) and not _is_written(value, operands)
            )
        if stated:
            found.append(result)
    return found


def strictly_stated(step: AnnotatedSubgoal) -> bool:
    """Whether any number of the text, but those of labels and references to subgoals, equals a result of the step."""
    numbers = numbers_in(_REFERENCE.sub(" ", unlabelled(step.subgoal.text)), words=True)
    return any(read_number(result) in numbers for result in step.results)


def _plain(result: str) -> str:
    return result.strip().rstrip(".").strip()


def _is_written(value: Fraction, text: str) -> bool:
    """`3/5` as it stands."""
    return re.search(rf"(?<![\d/]){value.numerator}\s*/\s*{value.denominator}(?![\d/])", text) is not None


def _occurs(result: str, text: str) -> bool:
    folded = " ".join(result.casefold().split())
    if folded in _SHORT or len(folded) < 2:
        return False
    return re.search(rf"(?<!\w){re.escape(folded)}(?!\w)", " ".join(text.casefold().split())) is not None
