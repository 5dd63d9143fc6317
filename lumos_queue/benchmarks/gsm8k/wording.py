"""Words the subgoals of GSM8K's solutions, from version 2 of the rules on: each subgoal of a row has its own words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction

from lumos_queue.notation import variables_in
from lumos_queue.rationales.maths.blanks import content_words
from lumos_queue.rationales.maths.calculations import Calculation, SolutionLine
from lumos_queue.rationales.maths.english import DETERMINERS
from lumos_queue.rationales.maths.equations import final_quantity
from lumos_queue.rationales.maths.expressions import format_expression
from lumos_queue.rationales.maths.gap_questions import ask_for_gap
from lumos_queue.rationales.maths.gaps import read_gap
from lumos_queue.rationales.maths.prose import describe_quantity
from lumos_queue.rationales.maths.sub_questions import find_fitting_questions
from lumos_queue.scoring.numerals import numbers_in

MAX_UNIT_WORDS = 4  #: words of a phrase that may only name a unit, `how many square feet`
_FRAME = frozenset(
    ("the", "answer", "how", "many", "much", "what", "money", "number", "to", "for", "of", "amount", "is")
)  #: words of the phrases themselves
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "next")
_COST = re.compile(r"^how much money (.* costs?)$")
_LOWER_WORD = re.compile(r"(?<![A-Za-z'’])[a-z]+")


class Wording:
    """Describes the results of one row, one after the other."""

    def __init__(self, question: str, lines: Sequence[SolutionLine]) -> None:
        self._question = question
        self._lines = lines
        self._stated_numbers = frozenset(numbers_in(question, words=True))
        self._fitting = find_fitting_questions(lines, question)
        text = " ".join((question, *(line.text for line in lines)))
        self._lower_words = frozenset(_LOWER_WORD.findall(text))
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
        return f"the {_ORDINALS[min(count, len(_ORDINALS)) - 1]} result of this form" if count > 1 else None

    def _list_candidates(self, position: int, index: int, results: Collection[Fraction]) -> Iterator[str]:
        line = self._lines[position]
        calculation, is_last = line.calculations[index], index == len(line.calculations) - 1
        if is_last and self._fitting[position]:
            known_numbers = self._stated_numbers.union(results)
            if known_numbers.issuperset(numbers_in(line.question, words=True)):
                yield f"the answer to '{line.question}'"
        yield from self._describe_line(calculation, index > 0)
        if is_last and position == len(self._lines) - 1 and (quantity := final_quantity(self._question)):
            yield quantity

    def _describe_line(self, calculation: Calculation, continues: bool) -> Iterator[str]:
        """Yield phrases in the words of a line, the clearest first."""
        phrase = describe_quantity(calculation.before, calculation.after, self._stated_numbers)
        if phrase and phrase.removeprefix("how many ").split()[0] in DETERMINERS:
            phrase = None
        phrase = phrase and _COST.sub(r"how much \1", phrase)
        gap = read_gap(calculation, self._stated_numbers, continues)
        forms = ask_for_gap(gap, self._lower_words) if gap else ()
        questions = [text for text in forms if _is_safe(text, calculation.value)]
        if phrase is not None and not (questions and _is_clearer(questions[0], phrase)):
            yield phrase
        yield from questions
        if phrase is not None:
            yield phrase


def _is_clearer(question: str, phrase: str) -> bool:
    """Return whether a question for a gap says more than a phrase, which may only name a unit."""
    words, phrase_words = content_words(question) - _FRAME, content_words(phrase) - _FRAME
    if "'" in question:  # it may quote the line
        return len(phrase.split()) <= MAX_UNIT_WORDS and words > phrase_words
    return words >= phrase_words and len(question.split()) >= len(phrase.split())


def _is_safe(text: str, value: Fraction) -> bool:
    """Return whether a text can stand in a subgoal: it has words, no variable, and not the value."""
    is_fraction = value.denominator > 1 and f"{value.numerator}/{value.denominator}" in text.replace(" ", "")
    if is_fraction or variables_in(text) or value in numbers_in(text, words=True):
        return False
    return not _FRAME.issuperset(re.findall("[a-z]+", text.lower()))
