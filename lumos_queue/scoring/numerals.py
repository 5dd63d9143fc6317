"""Read the numbers of a question, in figures and in words."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from fractions import Fraction

_DIGITS = (
    r"(?:(?<![\w.])(?:[0-9]{1,3}(?:,[0-9]{3}){1,9}|[0-9]{1,30})(?:\.[0-9]{1,30})?|(?<![\w.])\.[0-9]{1,30})(?![0-9])"
)
_BELOW_TWENTY = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen"""
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_WORDS = {word: Fraction(number) for number, word in enumerate(_BELOW_TWENTY.split())}
_WORDS |= {word: Fraction(10 * tens) for tens, word in enumerate(_TENS.split(), start=2)}
_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
_ARTICLES = {"a": Fraction(1), "an": Fraction(1), "half a": Fraction(1, 2), "half an": Fraction(1, 2)}


def _any(words: Iterable[str]) -> str:
    return f"(?:{'|'.join(sorted(words, key=len, reverse=True))})"


_SMALL = rf"(?:{_any(_TENS.split())}[- ]{_any(_BELOW_TWENTY.split()[1:10])}|{_any(_WORDS)})"
_HEAD = rf"(?:{_SMALL}|{_DIGITS}|{_any(_ARTICLES)})"
_LARGE = rf"{_HEAD}(?:[- ]{_any(_SCALES)})+"
_SUM = rf"{_LARGE}(?:[- ](?:and[ ])?{_LARGE}){{0,3}}(?:[- ](?:and[ ])?{_SMALL})?"
#: The first word of a phrase is looked for first: at most places of a long text there is none.
_FIRST = rf"(?:[0-9.]|{_any([*_TENS.split(), *_WORDS, 'a', 'an', 'half', 'dozen'])}(?!\w))"
#: `one hundred and one`, `2 thousand five hundred`, `half a dozen`, `forty-five`, `two and a half`, `half a`.
_PHRASE = re.compile(
    rf"(?<![\w.])(?={_FIRST})(?:(?:(?:{_SUM}|{_HEAD})[- ]dozen|{_SUM}"
    rf"|(?:{_SMALL}|{_DIGITS})(?:[ ]and[ ](?:a|one)[- ]half)?|half[ ]an?|dozen)(?!\w)|{_DIGITS})",
    re.IGNORECASE,
)
_FIGURES = re.compile(_DIGITS)
_PART = re.compile(rf"and (?:a|one)[- ]half|half an?|[a-z]+|{_DIGITS}")


def numbers_in(text: str, words: bool = False) -> list[Fraction]:
    """Return the numbers in order: in figures, and with `words` also `six`, `forty-five`, `a dozen`, `half a` (1/2).

    The time is linear in the length of the text.
    """
    if not words:
        return [Fraction(figure) for figure in figures_in(text)]
    phrases = [match.lower() for match in _PHRASE.findall(text)]
    values = {phrase: _value(phrase) for phrase in set(phrases)}
    return [values[phrase] for phrase in phrases]


def locate_numbers(text: str) -> list[tuple[Fraction, int, int]]:
    """Return the numbers, in figures and in words, each with its start and end in the text. The time is linear."""
    return [(_value(match[0].lower()), *match.span()) for match in _PHRASE.finditer(text)]


def figures_in(text: str) -> list[int | Fraction]:
    """Return the numbers in figures, in order; numbers without a decimal point are ints. The time is linear."""
    return [
        int(figure) if figure.isdecimal() else Fraction(figure.replace(",", "")) for figure in _FIGURES.findall(text)
    ]


def mask_numbers(text: str, known_numbers: Collection[Fraction], mask: str) -> str:
    """Return the text with `mask` for each number, in figures or words, that is not in `known_numbers`."""
    return _PHRASE.sub(lambda match: match[0] if _value(match[0].lower()) in known_numbers else mask, text)


def _value(phrase: str) -> Fraction:
    """Return the number of a phrase: its parts are added; a word such as `thousand` multiplies the parts before it."""
    total, part = Fraction(0), Fraction(0)
    for word in _PART.findall(phrase):
        if word == "hundred":
            part = (part or 1) * 100
        elif word in _SCALES:
            total, part = total + (part or 1) * _SCALES[word], Fraction(0)
        elif word == "dozen":
            total, part = (total + part or 1) * Fraction(12), Fraction(0)
        elif word.startswith("and "):
            part += Fraction(1, 2)
        elif word != "and":
            part += (
                _WORDS.get(word) or _ARTICLES.get(word) or Fraction(word.replace(",", "") if word[-1].isdigit() else 0)
            )
    return total + part
