"""Words the subgoals of GSM8K's solutions, from version 2 of the rules on: each subgoal of a row has its own words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction

from lumos_queue.notation import variables_in
from lumos_queue.rationales.maths.calculations import Calculation, SolutionLine
from lumos_queue.rationales.maths.cut_numbers import ORDINALS
from lumos_queue.rationales.maths.equations import final_quantity
from lumos_queue.rationales.maths.expressions import format_expression
from lumos_queue.rationales.maths.gap_questions import ask_for_gap
from lumos_queue.rationales.maths.gaps import read_gap
from lumos_queue.rationales.maths.prose import describe_quantity
from lumos_queue.rationales.maths.sub_questions import find_fitting_questions
from lumos_queue.scoring.numerals import numbers_in

MAX_UNIT_WORDS = 2  #: words that may only name a unit
_FRAME = frozenset(
    ("the", "answer", "how", "many", "much", "what", "which", "number", "percentage", "to", "money")
)  #: words of the questions themselves
_WORD = re.compile(r"[a-z0-9]+")
_COST = re.compile(r"^how much money (.* costs?)$")


class Wording:
    """Describes the results of one row, one after the other."""

    def __init__(self, question: str, lines: Sequence[SolutionLine]) -> None:
        self._question = question
        self._lines = lines
        self._stated_numbers = frozenset(numbers_in(question, words=True))
        self._fitting = find_fitting_questions(lines, question)
        self._earlier: set[str] = set()
        self._formulas: Counter[str] = Counter()  # of the calculations without words

    def describe(self, position: int, index: int, results: Collection[Fraction]) -> str | None:
        """Return the quantity that a calculation of a line gives; None if the row has no words for it.

        A quantity that an earlier calculation has is not returned again.

        `position`: of the line; `index`: of its calculation; `results`: of the earlier calculations.
        """
        candidates = self._list_candidates(position, index, results)
        for quantity in candidates:
            if quantity.lower() not in self._earlier:
                self._earlier.add(quantity.lower())
                return quantity
        formula = format_expression(self._lines[position].calculations[index].expression)
        self._formulas[formula] += 1
        count = self._formulas[formula]
        return f"the {ORDINALS[min(count, len(ORDINALS)) - 1]} result of this form" if count > 1 else None

    def _list_candidates(self, position: int, index: int, results: Collection[Fraction]) -> Iterator[str]:
        line = self._lines[position]
        calculation, is_last = line.calculations[index], index == len(line.calculations) - 1
        if is_last and self._fitting[position]:
            known_numbers = self._stated_numbers.union(results)
            if known_numbers.issuperset(numbers_in(line.question, words=True)):
                yield f"the answer to '{line.question}'"
        yield from _describe_line(calculation, self._stated_numbers, index > 0)
        if is_last and position == len(self._lines) - 1 and (quantity := final_quantity(self._question)):
            yield quantity


def _describe_line(calculation: Calculation, known_numbers: Collection[Fraction], continues: bool) -> Iterator[str]:
    """Yield the line's own words: a phrase if it lacks no word of the clause, then the clause as a question."""
    phrase = describe_quantity(calculation.before, calculation.after, known_numbers)
    gap = read_gap(calculation, known_numbers, continues)
    if gap is None:
        if phrase and len(_words(phrase) - _FRAME) > MAX_UNIT_WORDS:
            yield phrase
        return
    if not gap.left and len(gap.right.split()) <= MAX_UNIT_WORDS:
        return  # `how many square feet` can be anything in the row
    question = ask_for_gap(gap)
    keeps_order = gap.is_money or len(gap.right.split()) <= 1
    if phrase and keeps_order and _FRAME.issuperset(_words(question) - _words(phrase)):
        yield _COST.sub(r"how much \1", phrase)
    if _is_safe(question, calculation.value):
        yield question


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


def _is_safe(text: str, value: Fraction) -> bool:
    """Return whether a text can stand in a subgoal: it has no variable, and not the value."""
    has_fraction = value.denominator > 1 and f"{value.numerator}/{value.denominator}" in text.replace(" ", "")
    return not (has_fraction or variables_in(text) or value in numbers_in(text, words=True))
