"""Reads the calculations of a GSM8K solution, line by line: its marks, and equations in prose that are needed.

    Bob makes twice that, 13(2)=26.              an equation in prose
    Third hour: 26 x 2 = <<52=52>>52             a mark with the result only; the formula is in the prose before it
    All: 26+52 = <<26+52=78>>78

An equation in prose counts if it is exactly right, and its result is the answer or is used by a later calculation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from lumos_queue.rationales.maths.expressions import (
    Expression,
    Number,
    Operation,
    evaluate,
    format_expression,
    leaves,
    parse_infix,
)
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.scoring.numbers import read_numeral

MAX_CHARACTERS = 20_000  #: of a solution
MAX_MARKS = 200  #: of a solution
MAX_CHARACTERS_BEFORE = 200  #: characters of a line before a result
MAX_EQUATIONS = 20  #: in prose, of a line

_MARK = re.compile(r"<<([^<>]*)>>")
BEFORE_STEP = " ** "  #: between a sub-question and its step, in socratic files
_SOCRATIC = re.compile(r"^([^*]*\?) \*\* ")
_NUMERAL = r"(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?|\.[0-9]+"
_WORD = r"[A-Za-z]++(?:['’-][A-Za-z]++)*+"  #: possessive, because backtracking over a text of many words takes too long
_UNIT = (
    r"(?:\s*(?:/\s*|per\s+)?(?!\(?(?:times|plus|minus|divided|multiplied|of|x)\b)"
    rf"(?:\({_WORD}\)|{_WORD})){{0,4}}?"
)
_OPERAND = rf"[($\[]*+-?\$?(?:{_NUMERAL})(?:\s*%)?{_UNIT}[)\]]*+"
_SIGN = r"(?:[-+*/x×÷–−]|(?:times|plus|minus|divided by|multiplied by)\b|(?<=[0-9%)] )of\b)"
#: `3 boxes * $4 per box`, up to the end of the text.
FORMULA = re.compile(rf"(?<![\w.,$])(?:{_OPERAND}\s*(?:{_SIGN}\s*|(?=\())){{1,12}}{_OPERAND}\s*$")
_EQUALS = re.compile(r"=|\bequals\b|\bis equal to\b")
_RESULT = re.compile(rf"\s*+(?:\$\s*+)?((?>{_NUMERAL}))(?!\s*[-+*/x×÷(]|[\w.,]*[0-9]|[A-Za-z](?![A-Za-z]))")
_LAST_EQUALS = re.compile(r"(?:=|\bequals|\bis equal to)\Z")
FIGURES = re.compile(r"(?<![\s$\d.,()+\-*/x×÷–=%])[\s$\d.,()+\-*/x×÷–=%]++\Z")  #: at the end of the text
_WORD_SIGNS = {"times": "*", "plus": "+", "minus": "-", "divided by": "/", "multiplied by": "*", "x": "*", "of": "*"}
_WORDS_OUT = re.compile(r"(?:/\s*|per\s+)?\(?[A-Za-z][A-Za-z'’-]*\)?|[$\s]")
_ALGEBRA = re.compile(r"[0-9)][a-wyzA-WYZ](?![A-Za-z])")  #: `2y`; an `x` may mean times
#: Before the value of an unknown, or of a formula with one: `x = `, `4s = `, `x + `, `x*0.25 = `, `the others + 3 = `.
_UNKNOWN = re.compile(r"(?:(?<![A-Za-z])[A-Za-z]\s*(?:=|[-+*/])|[-+*/×]\s*\$?[0-9.,]+\s*=)\s*+(?:\$\s*+)?\Z")


@dataclass(frozen=True, slots=True)
class Calculation:
    expression: Expression
    value: Fraction
    before: str  #: the text of the line before it, back to the previous calculation
    after: str  #: the text after it, up to the next calculation
    copied: bool  #: whether it only states a number from elsewhere: `2x = 16`, `x = <<8=8>>8`


@dataclass(frozen=True, slots=True)
class SolutionLine:
    text: str  #: without its marks
    question: str  #: the sub-question that the line answers in a socratic file; else ''
    calculations: tuple[Calculation, ...]


def calculations(solution: str, answer: Fraction | None = None, all_prose: bool = False) -> list[SolutionLine]:
    """Return the lines with calculations. Raises NotConvertible for an unreadable mark.

    `answer`: if the last calculation is an equation in prose with this result, it counts. `all_prose`: whether an
    equation in prose also counts if an earlier calculation with another formula gives the same result.
    """
    if solution.count("<<") > MAX_MARKS or len(solution) > MAX_CHARACTERS:
        raise NotConvertible("too_large")
    lines = [_read_line(line) for line in solution.split("\n")]
    candidates = [(position, candidate) for position, (_, group) in enumerate(lines) for candidate in group]
    counts = _which_count([candidate for _, candidate in candidates], answer, all_prose)
    retained: dict[int, list[_Candidate]] = {}
    for (position, candidate), is_needed in zip(candidates, counts, strict=True):
        if is_needed:
            retained.setdefault(position, []).append(candidate)
    return [
        SolutionLine(
            _MARK.sub("", group[0].line), lines[position][0].strip(), tuple(_add_texts(lines[position][0], group))
        )
        for position, group in retained.items()
    ]


@dataclass(frozen=True, slots=True)
class _Candidate:
    line: str
    start: int  #: where the mark begins, or the result in prose
    end: int  #: where the mark ends, or where the result in prose begins
    expression: Expression
    value: Fraction
    marked: bool
    copied: bool = False


def _read_line(line: str) -> tuple[str, list[_Candidate]]:
    question_match = _SOCRATIC.match(line)
    begin = question_match.end() if question_match else 0
    candidates = [_read_mark(line, mark) for mark in _MARK.finditer(line)]
    starts = [candidate.start for candidate in candidates]
    blank = _MARK.sub(lambda mark: "\0" * len(mark[0]), line)
    for sign in list(_EQUALS.finditer(blank, begin))[:MAX_EQUATIONS]:
        result = _RESULT.match(blank, sign.end())
        expression = result and _formula(blank[max(begin, sign.start() - MAX_CHARACTERS_BEFORE) : sign.start()])
        if not result or expression is None or any(sign.end() <= start <= result.end() for start in starts):
            continue
        value = read_numeral(result[1])
        if value is not None and _value(expression) == value:
            candidates.append(_Candidate(line, sign.end(), sign.end(), expression, value, False))
    return (question_match[1] if question_match else ""), sorted(candidates, key=lambda candidate: candidate.start)


def _read_mark(line: str, mark: re.Match) -> _Candidate:
    formula, _, result_text = mark[1].rpartition("=")
    expression, result = (
        parse_infix(formula.replace("//", "/")),
        parse_infix(result_text),
    )  # two marks of the dataset divide with `//`
    if expression is None or result is None:
        raise NotConvertible("unreadable_expression")
    value = _value(expression)
    if value is None or (right := _value(result)) is None:
        raise NotConvertible("division_by_zero")
    if value != right:
        raise NotConvertible("mark_wrong")
    if isinstance(expression, Operation):
        return _Candidate(line, mark.start(), mark.end(), expression, value, True)
    before = _MARK.sub("", line[max(0, mark.start() - MAX_CHARACTERS_BEFORE) : mark.start()])
    prose_expression = _formula(_strip_equals(before))
    if prose_expression is not None and _value(prose_expression) == value:
        return _Candidate(line, mark.start(), mark.end(), prose_expression, value, True)
    return _Candidate(line, mark.start(), mark.end(), expression, value, True, _UNKNOWN.search(before) is not None)


def _formula(text: str) -> Expression | None:
    """Return the formula at the end of the text, without units: `3 boxes * $4 per box`; None if there is none."""
    match = FORMULA.search(text)
    if match is None or _ALGEBRA.search(match[0]):
        return None
    plain = re.sub(r"[A-Za-z]+(?: by)?", lambda word: _WORD_SIGNS.get(word[0], word[0]), match[0])
    plain = re.sub(rf"({_NUMERAL})\s*%", r"(\1/100)", _WORDS_OUT.sub("", plain.replace("[", "(").replace("]", ")")))
    plain = re.sub(r"(?<=[0-9)])\(", "*(", plain).replace("–", "-")
    expression = parse_infix(plain)
    return expression if isinstance(expression, Operation) else None


def _value(expression: Expression) -> Fraction | None:
    try:
        return evaluate(expression)
    except ZeroDivisionError:
        return None


def strip_formula(text: str) -> str:
    """Return the text without a formula at its end, or without two equal formulas, and without their equals signs."""
    text = text[-MAX_CHARACTERS_BEFORE * 2 :]
    for _ in range(2):
        text = FIGURES.sub("", FORMULA.sub("", _strip_equals(text)))
    return text.rstrip()


def find_formula(before: str) -> tuple[str, str]:
    """Return the formula at the end of the text before a result, and the text before that formula; '' for none."""
    text = _strip_equals(before[-MAX_CHARACTERS_BEFORE * 2 :])
    match = FORMULA.search(text) or FIGURES.search(text)
    return (match[0], text[: match.start()]) if match else ("", text)


def _strip_equals(text: str) -> str:
    """Return the text without an equals sign at its end, or `= $`."""
    return _LAST_EQUALS.sub("", text.rstrip().removesuffix("$").rstrip())


def _which_count(candidates: list[_Candidate], answer: Fraction | None, all_prose: bool) -> list[bool]:
    """Return whether each candidate counts: a mark always, an equation in prose if only it gives a later operand."""
    known_values: set[Fraction] = set()
    known_formulas: set[str] = set()
    new: list[bool] = []  # whether no earlier candidate gives the result, or none with the same formula
    for candidate in candidates:
        formula = format_expression(candidate.expression)
        new.append(candidate.value not in known_values or (all_prose and formula not in known_formulas))
        known_values.add(candidate.value)
        known_formulas.add(formula)
    operands: set[Fraction] = set()
    flags = []
    for position in range(len(candidates) - 1, -1, -1):
        candidate = candidates[position]
        last = position == len(candidates) - 1 and answer == candidate.value
        counts = candidate.marked or last or (new[position] and candidate.value in operands)
        if counts:
            operands.discard(candidate.value)
            operands.update(leaf.value for leaf in leaves(candidate.expression) if isinstance(leaf, Number))
        flags.append(counts)
    return flags[::-1]


def _add_texts(question: str, candidates: list[_Candidate]) -> Iterator[Calculation]:
    line = candidates[0].line
    start = _SOCRATIC.match(line).end() if question else 0  # type: ignore[union-attr]
    for position, candidate in enumerate(candidates):
        end = candidates[position + 1].start if position + 1 < len(candidates) else len(line)
        before, after = _MARK.sub("", line[start : candidate.start]), _MARK.sub("", line[candidate.end : end])
        yield Calculation(candidate.expression, candidate.value, before, after, candidate.copied)
        start = candidate.end
