"""Read the number that a sentence states as its answer: `42 apples`, `6 * 7 = 42`, `$42.50, because …`.

The rules, in order:

1. The sentence ends at a dot, a mark or a semicolon. Its head ends before an explanation: `because`, `since`, `for`, an
   opening bracket, a dash and the like. If the head states numbers, only it counts: `42, because 6 * 7 = 42` is 42.
2. If parts of the sentence are bold and state numbers, only these count.
3. Of an equation, the last side with a number counts: `6 * 7 = 42 apples` is 42. Several equations that are joined by a
   comma, `and` or `or` must agree.
4. The remaining numbers must be equal. `12 or 13`, `12-13`, `5 hours and 30 minutes` and `6 * 7` state no number.
5. Scale words multiply the number if their factor is certain (scale_words.py): `12 thousand` is 12,000. `3 quarters`,
   `2x`, `10^3` and `12.5.3` are not read as numbers. A time or a ratio stays as it is written: `3:45`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from lumos_queue.scoring.answer_statements import Statement, last_sentences, sentence
from lumos_queue.scoring.numbers import CURRENCY, MINUS_SIGNS, VULGAR_FRACTIONS, read_numeral, show_number
from lumos_queue.scoring.numerals import numbers_in
from lumos_queue.scoring.numeric import is_letter_unit
from lumos_queue.scoring.scale_words import read_scale

MAX_EXPONENT = 300

_NUMERAL = r"(?:(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?|\.[0-9]+)"
_NUMBER = re.compile(
    r"(?<![\w.^])(?:(?P<ratio>[0-9]{1,3}:[0-9]{1,3}(?::[0-9]{2})?(?![:0-9])(?:[ ]?(?:[ap]m\b|[ap]\.m\.))?)"
    rf"|(?P<whole>{_NUMERAL})(?:[eE](?P<exponent>[-+]?[0-9]{{1,4}})(?![0-9])"
    rf"|[ ]?/[ ]?(?P<under>{_NUMERAL})|[ ]+(?P<over>[0-9]+)/(?P<parts>[0-9]+)(?![0-9]))?)",
    re.IGNORECASE,
)
Value = Fraction | str | None  #: of a number; a time or a ratio as text; None: it cannot be read
#: Behind a number: what makes it a part of something else, such as a power, a date or a version.
_CONTINUED = re.compile(r":[0-9]|\.[0-9]|\^|\*\*[0-9]|/[0-9]|_")
#: A minus sign, and no subtraction, range or dash: it touches the number, or an equation begins with it.
_MINUS = re.compile(rf"(?:(?<![\w)%.-])-[{CURRENCY}]?|(?:\A|[=(:≈])[ ]*-[ ]*[{CURRENCY}]?)\Z")
_GLUED = re.compile(r"[^\W\d_]+")
_MONEY = re.compile(rf"[{CURRENCY}][ ]?-?\Z")
_NORMAL = str.maketrans(dict.fromkeys(MINUS_SIGNS, "-") | {"⁄": "/", "∕": "/", "÷": "/", "×": "*", "：": ":"})
_VULGAR = re.compile(rf"(?<=[0-9])[ ]?([{''.join(VULGAR_FRACTIONS)}])|([{''.join(VULGAR_FRACTIONS)}])")
_EXPLANATION = re.compile(
    r"[ ,](?:because|since|as|for|per|which|where|when|while|if|after|before|given|considering|that[ ]is|i\.e\.|so|thus"
    r"|hence|therefore|meaning|out[ ]of|not|rather[ ]than|instead[ ]of|and[ ]not)\b"
    r"|(?<=\S)[ ]?[(\[]|[ ]-{1,2}[ ](?=[A-Za-z])|(?<=[^\s:]):[ ]",
    re.IGNORECASE,
)
_EQUALS = re.compile(r"(?<![<>!≤≥])=>?|≈|→|->|\b(?:equals|is equal to|makes|gives|totals|amounts to|comes to)\b")
_JOINED = re.compile(r",[ ]|[ ](?:and|or)[ ]")
_ALTERNATIVE = re.compile(r"[0-9%][^.\n=]{0,30}?(?:\bor\b[^.\n=0-9]{0,20}|-)[$€£ ]?\Z")
_LABEL = re.compile(r"^[ \t>*#(-]{0,8}(?:step[ ])?[0-9]{1,3}[.):][ \t]+(?=\S)", re.IGNORECASE | re.MULTILINE)
_PLACEHOLDER = re.compile(r"[\[(<{]{0,2}(?:.|number|answer|your answer|the answer|result)?[\])>}]{0,2}", re.IGNORECASE)
_UNKNOWN = re.compile(
    r"\b(?:unknown|undetermined|undefined|indeterminate|impossible|insufficient"
    r"|not (?:enough|sufficient|possible|given)|can(?:not|['’]t)|could(?: not|n['’]t)|no answer|unanswerable|n/a)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class StatedNumber:
    """A number in a text."""

    start: int
    end: int
    value: Value


def read_stated(statement: Statement) -> tuple[bool, str | None]:
    """Return whether a statement is about a number, and the number; None instead if it states several, or none."""
    if statement.is_whole:
        values = {value for line in statement.text.split("\n") for value in _sentence_values(line)}
        return bool(values), _only(values)
    if statement.is_value:
        sentence_values = filter(None, map(_sentence_values, last_sentences(statement.text)))
        values = next(sentence_values, set())
        return bool(values), _only(values)
    head = sentence(statement.text)
    bold = {value for start, end in statement.bold if end <= len(head) for value in _sentence_values(head[start:end])}
    values = bold or _sentence_values(head)
    return bool(values) or _UNKNOWN.search(head) is not None, _only(values)


def last_number(text: str, bold: Sequence[str]) -> str | None:
    """Return the last number of a text, or the only number in its `bold` parts; None if the last is one of several.

    Several numbers are alternatives (`12 or 13`) or a range. Numbers of steps and list items at the start of a line do
    not count.
    """
    text = _normal(text)
    labels = {start for match in _LABEL.finditer(text) for start in range(match.start(), match.end())}
    last = None
    for number in _numbers(text):
        if number.start not in labels:
            last = number
    if last is None:
        return None
    if (bold_values := {value for part in bold for value in _sentence_values(part)}) and len(bold_values) == 1:
        return _only(bold_values)
    before = text[max(0, last.start - 60) : last.start]
    return None if _ALTERNATIVE.search(before) else _show(last.value)


def read_whole(text: str) -> str | None:
    """Return the number of a text that is only a number with a unit of at most three words; None for other texts."""
    text = _normal(text).strip(" \t\"'.*$()[]")
    numbers = list(_numbers(text[:200]))
    if len(numbers) != 1 or len(text) > 200:
        return None
    before, after = text[: numbers[0].start], text[numbers[0].end :]
    if before.strip(f" -+~{CURRENCY}").upper() not in ("", "US") or len(after.split()) > 3:
        return None
    return _show(numbers[0].value)


def read_spelled(text: str) -> str:
    """Return the answer of a statement without digits: a number word as digits, else the text without quotes and dot.

    '' for a placeholder that is repeated from an instruction: `The answer is N.`
    """
    text = text.strip(" \t\"'“”‘’*_.")
    if _PLACEHOLDER.fullmatch(text):
        return ""
    numbers = set(numbers_in(text, words=True)) if len(text.split()) <= 4 and " of " not in f"{text} " else set()
    return show_number(numbers.pop(), decimal=True) if len(numbers) == 1 else text.removesuffix(".")


def _show(value: Value) -> str | None:
    """Return a number as text without thousands separators, with a decimal point or as a fraction."""
    return show_number(value, decimal=True) if isinstance(value, Fraction) else value


def _normal(text: str) -> str:
    return _VULGAR.sub(_spell_fraction, text.translate(_NORMAL))


def _spell_fraction(match: re.Match[str]) -> str:
    return f" {VULGAR_FRACTIONS[match[1]]}" if match[1] else VULGAR_FRACTIONS[match[2]]


def _only(values: set[Value]) -> str | None:
    return _show(next(iter(values))) if len(values) == 1 else None


def _sentence_values(text: str) -> set[Value]:
    """Return the different numbers that a sentence states; None in the set means an unreadable number."""
    text = sentence(_normal(text).lstrip(" \t([\"'"))
    if (explanation := _EXPLANATION.search(text)) and (values := _clause_values(text[: explanation.start()])):
        return values
    return _clause_values(text)


def _clause_values(text: str) -> set[Value]:
    if len(_EQUALS.findall(text)) > 1 and len(clauses := _JOINED.split(text)) > 1:
        return {value for clause in clauses for value in _equation_values(clause)}
    return _equation_values(text)


def _equation_values(text: str) -> set[Value]:
    """Return the numbers on the last side of an equation that has numbers; without an equation, all numbers."""
    for side in reversed(_EQUALS.split(text)):
        if values := {number.value for number in _numbers(side)}:
            return values
    return set()


def _numbers(text: str) -> Iterator[StatedNumber]:
    """Yield the numbers of a text, in order, without exponents and numbers in names (`m^2`, `R2`)."""
    for match in _NUMBER.finditer(text):
        start, end = match.span()
        before = text[max(0, start - 12) : start]
        money = _MONEY.search(before) is not None
        if match["ratio"]:
            yield StatedNumber(start, end, match[0].lower())
            continue
        value = _value(match)
        if _CONTINUED.match(text, end):
            value = None
        elif (suffix := _GLUED.match(text, end)) and len(suffix[0]) == 1:
            value = value if is_letter_unit(suffix[0]) or suffix[0] in "kKmbt" else None
        factor, end = read_scale(text, end, money)
        if value is not None:
            value = None if factor is None else value * factor * (-1 if _MINUS.search(before) else 1)
        yield StatedNumber(start, end, value)


def _value(match: re.Match[str]) -> Fraction | None:
    value = read_numeral(match["whole"])
    if value is None:
        return None
    if match["exponent"]:
        exponent = int(match["exponent"])
        return value * Fraction(10) ** exponent if abs(exponent) <= MAX_EXPONENT else None
    if match["under"]:
        under = read_numeral(match["under"])
        return value / under if under else None
    if match["over"]:
        over, parts = read_numeral(match["over"]), read_numeral(match["parts"])
        return value + over / parts if over is not None and parts and value.denominator == 1 else None
    return value
