"""Reads the clause of a line that states a calculation's result, as the words before and after the result.

The tip came out to 110*.3=$<<110*.3=33>>33                    ->  The tip came out to | $ |
Ben makes 3 points off shots because 1 x 3 = <<1*3=3>>3        ->  Ben makes | | points off shots
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction

from lumos_queue.rationales.maths.calculations import BEFORE_STEP, Calculation, strip_formula
from lumos_queue.rationales.maths.clauses import words_of_clause
from lumos_queue.rationales.maths.cut_numbers import word_cut_numbers
from lumos_queue.scoring.numbers import read_numeral

MAX_LEFT_WORDS = 40
MAX_RIGHT_WORDS = 30
MAX_RIGHT_CHARACTERS = 400

_SENTENCE = re.compile(r"(?<=[.;!?])\s+")
_TITLE = re.compile(r"\b(Mrs?|Ms|Dr|St)\.")
_CONTINUATION = re.compile(r"(?:,|;|\bso|\bthen|\bmeaning|\bbecause|\band)\s+")
_OPENING = re.compile(
    r"^(?:[-\s,:.)*]|\b(?:so|thus|then|therefore|hence|and|but|because|(?:that|which|this|it) means(?: that)?"
    r"|meaning(?: that)?)\b(?!['’-])(?! far\b)"
    r"|\b(?:now|finally|next|also|first|second|lastly|again|as a result|after that|overall),)+",
    re.IGNORECASE,
)
_BECAUSE = re.compile(r"\b(?:because|since|as)\W*$", re.IGNORECASE)
_RESULT = re.compile(r"^\s*+(?P<money>\$\s*+)?-?(?:[\d.,/]*\d)?\s*(?P<percent>%?)")
_NUMERAL = re.compile(r"(?<![\w.])(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?|(?<![\w.])\.[0-9]+")
_PLAIN = re.compile(r"""[\w\s$%.,:;'’"“”/&()+*=?!°-]*""")
_PER = re.compile(r"^\s*/\s*(?=[a-z])")
_DOLLARS = re.compile(r"^(?:dollars?|bucks)\b\s*")


@dataclass(frozen=True, slots=True)
class Gap:
    """A clause without its result."""

    left: str
    right: str
    is_money: bool = False
    is_percent: bool = False


def read_gap(calculation: Calculation, known_numbers: Collection[Fraction], continues: bool) -> Gap | None:
    """Return the clause of a calculation; None if its characters are not those of plain sentences.

    Numbers that are not in `known_numbers` are replaced by words. `continues`: whether the text before the calculation
    begins with the line's previous calculation.
    """
    known_numbers = set(known_numbers) - {calculation.value}
    before, after = (_TITLE.sub(r"\1", text) for text in (calculation.before, calculation.after))
    before = before.rpartition(BEFORE_STEP)[2]  # a sub-question without a question mark
    head = _SENTENCE.split(_strip_formula(before))[-1].strip()
    if continues:
        boundary = _CONTINUATION.search(f"{head} ")
        head = head[boundary.end() :] if boundary else ""
    result = _RESULT.match(after)
    is_money = before.rstrip().endswith("$") or bool(result and result["money"])
    is_percent = bool(result and result["percent"])
    tail = _read_tail(after[result.end() if result else 0 :][:MAX_RIGHT_CHARACTERS])
    if _BECAUSE.search(head):
        head = _BECAUSE.sub("", head).rstrip(" ,")
        head, tail, is_money = _cut_result(head, calculation.value) or (f"{head}:", tail, is_money)
        is_percent, tail = is_percent or tail.startswith("%"), tail.removeprefix("%").lstrip()
    if dollars := _DOLLARS.match(tail):
        tail, is_money = tail[dollars.end() :], True
    head = _OPENING.sub("", head).rstrip(" $")
    left, right = (" ".join(word_cut_numbers(text, known_numbers).split()) for text in (head, tail))
    if not _PLAIN.fullmatch(left + right) or len(left.split()) > MAX_LEFT_WORDS or len(right.split()) > MAX_RIGHT_WORDS:
        return None
    return Gap(left, right, is_money, is_percent)


def _strip_formula(text: str) -> str:
    """Return the text without the formula at its end; the `x` of `the tax` belongs to the word."""
    stripped = strip_formula(text)
    end = text.rfind(stripped) + len(stripped)
    return f"{stripped}x" if stripped[-1:].isalpha() and text[end : end + 1] == "x" else stripped


def _cut_result(clause: str, value: Fraction) -> tuple[str, str, bool] | None:
    """Return the texts before and after the result in a clause, and whether it is money; None if it is not there."""
    for match in _NUMERAL.finditer(clause):
        if read_numeral(match[0]) == value:
            before = clause[: match.start()].rstrip()
            return before.removesuffix("$"), _read_tail(clause[match.end() :]), before.endswith("$")
    return None


def _read_tail(text: str) -> str:
    """Return the words after a result that belong to its clause."""
    return words_of_clause(_PER.sub("per ", text))
