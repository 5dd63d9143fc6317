"""Finds the numbers in a question, and the dependencies between them.

`25% of 3 dozen` contains 25 and 3, which can be changed; 0.25, 0.75, 75 and 36 follow from these. The 12 of a dozen
cannot be changed: it is a named constant (rationales/maths/constants.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from lumos_queue.scoring.numerals import numbers_in

Changes = Mapping[Fraction, Fraction]
#: Returns the new value of a number from the new values of the numbers that it depends on.
Dependency = Callable[[Callable[[Fraction], Fraction]], Fraction]

MAX_CHARACTERS = 20_000  #: searched in a question

_NUMBER = r"(?<![\w.,/])([0-9]{1,30}(?:\.[0-9]{1,30})?|\.[0-9]{1,30})"
_PERCENT = re.compile(rf"{_NUMBER}\s*(?:%|-?per ?cent(?![a-z]))", re.IGNORECASE)
_CENTS = re.compile(rf"{_NUMBER}[\s-]*(?:cents?(?![a-z])|¢)", re.IGNORECASE)
_DOLLARS = re.compile(r"\$\s*([0-9]{1,30}(?:\.[0-9]{1,30})?|\.[0-9]{1,30})(?![0-9,/])")
_FRACTION = re.compile(r"(?<![\w./])(?:([0-9]{1,30})[ -])?([0-9]{1,30})/([0-9]{1,30})(?![\w/])")
_SCALES = {"dozen": 12, "hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
_SPACE = re.compile(r"\s+")
_RUN_END = 42  #: characters at either end of a run of blanks and hyphens that _SCALED can distinguish
_LONG_RUN = re.compile(rf"[ -]{{{2 * _RUN_END},}}")
_SCALED = re.compile(rf"(?<![\w.])(\S{{1,40}})[ -]{{1,{2 * _RUN_END}}}+({'|'.join(_SCALES)})(?![a-z])", re.IGNORECASE)
_HALF = re.compile(r"(?<![\w.])half\s+an?(?![a-z])|(?:an?|(\S{1,40}))\s+and\s+(?:a|one)[- ]half", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class QuestionNumbers:
    """The numbers of one question, grouped by origin."""

    free: tuple[Fraction, ...]  #: can be changed; in the order of the text, each once
    percent: frozenset[Fraction]  #: the free numbers that are percentages
    follow: Mapping[Fraction, Dependency]  #: written or implied numbers that follow from others
    fixed: frozenset[Fraction]  #: numbers that words alone express: a dozen, half a

    @property
    def numbers(self) -> frozenset[Fraction]:
        return frozenset(self.free).union(self.follow, self.fixed)

    def extend(self, changes: Changes) -> dict[Fraction, Fraction]:
        """Return `changes`, which are of free numbers, and the changes that follow from them: old to new number."""
        all_changes = dict(changes)
        for value, follow in self.follow.items():
            all_changes.setdefault(value, follow(lambda number: changes.get(number, number)))
        return all_changes


@lru_cache(maxsize=256)
def question_numbers(question: str) -> QuestionNumbers:
    """Return the numbers in a question, in figures or words."""
    question = question[:MAX_CHARACTERS]
    percent = frozenset(map(Fraction, _PERCENT.findall(question)))
    fixed_numbers = {Fraction(1, 2) for match in _HALF.finditer(question) if match[0].lower().startswith("half")}
    text_numbers = numbers_in(question, words=True)
    scaled_numbers = list(_find_scaled(question))
    fixed_numbers |= {value for value, part, _ in scaled_numbers if part is None}
    whole = {value for value, part, _ in scaled_numbers if part is not None}
    free = dict.fromkeys(
        [number for number in text_numbers if number not in whole | fixed_numbers]
        + [part for _, part, _ in scaled_numbers if part is not None]
    )
    follow = dict(_dependent_numbers(question, percent))
    follow |= {value: _times(part, scale) for value, part, scale in scaled_numbers if part is not None}
    return QuestionNumbers(
        tuple(free),
        percent,
        {value: dependency for value, dependency in follow.items() if value not in free},
        frozenset(fixed_numbers),
    )


def _find_scaled(question: str) -> Iterator[tuple[Fraction, Fraction | None, int]]:
    """Yield (value, number before the scale or None, scale) of texts like `3 dozen`, `a hundred` and `2.5 million`."""
    text = _LONG_RUN.sub(lambda run: run[0][:_RUN_END] + run[0][-_RUN_END:], _SPACE.sub(" ", question))
    for before, scale in _SCALED.findall(text):
        factor, numbers = _SCALES[scale.lower()], numbers_in(before, words=True)
        if numbers:
            yield numbers[-1] * factor, numbers[-1], factor
        elif scale.lower() == "dozen":
            yield Fraction(12), None, 12


def _times(part: Fraction, factor: int) -> Dependency:
    return lambda now: now(part) * factor


def _dependent_numbers(question: str, percent: frozenset[Fraction]) -> Iterator[tuple[Fraction, Dependency]]:
    for value in map(Fraction, _CENTS.findall(question)):
        yield value / 100, lambda now, value=value: now(value) / 100
    for value in map(Fraction, _DOLLARS.findall(question)):
        yield value * 100, lambda now, value=value: now(value) * 100
    for whole, over, under in _FRACTION.findall(question):
        if not int(under):
            continue
        parts = Fraction(int(over)), Fraction(int(under)), Fraction(int(whole or 0))
        yield parts[2] + parts[0] / parts[1], lambda now, parts=parts: now(parts[2]) + now(parts[0]) / now(parts[1])
        yield 1 - parts[0] / parts[1], lambda now, parts=parts: 1 - now(parts[0]) / now(parts[1])
        yield parts[1] - parts[0], lambda now, parts=parts: now(parts[1]) - now(parts[0])
    for value in percent:
        yield 1 + value / 100, lambda now, value=value: 1 + now(value) / 100
        yield 100 + value, lambda now, value=value: 100 + now(value)
        yield 100 - value, lambda now, value=value: 100 - now(value)
        yield 1 - value / 100, lambda now, value=value: 1 - now(value) / 100
        yield value / 100, lambda now, value=value: now(value) / 100
