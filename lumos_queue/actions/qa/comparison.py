"""The Calculator of complex QA: arithmetic, and comparisons of numbers, dates and truth values with and, or and not.

The text is split before variables are replaced, so that a value's text (`-`, `=`, `R1`) is never an operator.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import Any

from lumos_queue.actions.algebra.kinds import MAX_TEXT
from lumos_queue.actions.maths.interface import MathsActions
from lumos_queue.actions.qa.arguments import value_of
from lumos_queue.actions.qa.unit_arithmetic import Unclear, evaluate, names_units
from lumos_queue.actions.quantities.dates import read_date
from lumos_queue.actions.quantities.kinds import Quantity, When
from lumos_queue.actions.quantities.reading import read_quantity, read_value, show_quantity
from lumos_queue.actions.quantities.units import readings
from lumos_queue.episode import Variables
from lumos_queue.errors import ActionError
from lumos_queue.notation import variables_in
from lumos_queue.records import Action
from lumos_queue.scoring.numbers import parse_number, show_number

MAX_DEPTH = 30  #: nested brackets
_RELATIONS = {"≥": ">=", "=>": ">=", "≤": "<=", "=<": "<=", "≠": "!=", "<>": "!=", "==": "="}
_OR, _AND = re.compile(r"\bor\b|\|\|", re.IGNORECASE), re.compile(r"\band\b|&&", re.IGNORECASE)
_RELATION = re.compile(r">=|<=|=>|=<|==|!=|<>|[≥≤≠=<>]")
_NOT = re.compile(r"not\b\s*", re.IGNORECASE)
#: Digits and operators alone: a date only in the full form of ISO 8601, because `2020 - 1` is 2019.
_ONLY_NUMBERS = re.compile(r"[-−–+*/×÷.,()\s0-9]+")
_ISO_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DAY_FIRST = re.compile(r"[0-9]{1,2}([-/])[0-9]{1,2}\1[0-9]{4}")
#: maths failures after which a model is asked
_UNREADABLE = ("syntax", "not_a_number", "arity", "unsolved", "no_solution")

Operand = Quantity | When | bool | str


async def calculate(text: str, variables: Variables, maths: MathsActions) -> dict[str, Any]:
    """Return a formula's value, of kind 'boolean' (`yes`, `no`), 'number' or 'date'. Raises Unclear and ActionError.

    A number's text ends in its unit, so that the next action knows the unit. A whole number without a unit that is
    compared with a date is a year. Comparing texts raises Unclear unless they are equal.
    """
    if len(text) > MAX_TEXT:
        raise ActionError("too_large", f"a formula may have {MAX_TEXT} characters, this has {len(text)}")
    for name in variables_in(text):
        value_of(name, variables)
    return _value(await _Reader(variables, maths).whole(text, 0))


def is_question(text: str) -> bool:
    """Return whether a formula is a question for yes or no."""
    return any(len(split(text, mark)[0]) > 1 for mark in (_OR, _AND, _RELATION)) or bool(_NOT.match(text.strip()))


def split(text: str, mark: re.Pattern[str]) -> tuple[list[str], list[str]]:
    """Split a text at the matches of `mark` outside of brackets. Return the parts and the matches."""
    parts, marks, depth, start = [], [], 0, 0
    position = 0
    while position < len(text):
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        match = mark.match(text, position) if depth == 0 else None
        if match:
            parts.append(text[start:position].strip())
            marks.append(match[0])
            position = start = match.end()
        else:
            position += 1
    return [*parts, text[start:].strip()], marks


class _Reader:
    def __init__(self, variables: Variables, maths: MathsActions):
        self._variables, self._maths = variables, maths

    async def whole(self, text: str, depth: int) -> Operand:
        if depth > MAX_DEPTH:
            raise ActionError("too_large", f"brackets may be nested {MAX_DEPTH} deep")
        for mark, combine in ((_OR, any), (_AND, all)):
            parts, marks = split(text, mark)
            if marks:
                return combine([await self._truth(part, depth) for part in parts])
        if negation := _NOT.match(text.strip()):
            return not await self._truth(text.strip()[negation.end() :], depth)
        parts, marks = split(text, _RELATION)
        operands = [await self._operand(part, depth) for part in parts]
        if not marks:
            return operands[0]
        steps = zip(operands, marks, operands[1:], strict=False)
        return all([await asyncio.to_thread(compare, left, mark, right) for left, mark, right in steps])

    async def _truth(self, text: str, depth: int) -> bool:
        truth = await self.whole(text, depth + 1)
        if not isinstance(truth, bool):
            raise Unclear(f"'{text[:60]}' is neither yes nor no")
        return truth

    async def _operand(self, text: str, depth: int) -> Operand:
        if not text:
            raise Unclear("an operand is missing")
        if _is_bracket(text):
            return await self.whole(text[1:-1], depth + 1)
        if text in self._variables:
            stored_text = str(self._variables[text]["text"])
            operand = read_value(stored_text)
            return stored_text if operand is None else operand
        names = variables_in(text)
        operand = None if names else read_literal(text)
        return await self._arithmetic(text, names) if operand is None else operand

    async def _arithmetic(self, text: str, names: Sequence[str]) -> Operand:
        """Compute a formula by the maths actions; a text without digits and variables stays a text."""
        if not names and not any(letter.isdigit() for letter in text):
            return text
        values = {name: self._quantity(name) for name in names}
        if names_units(text) or any(value.unit for value in values.values()):
            return await asyncio.to_thread(evaluate, text, values)
        bare = {
            name: {"kind": "number", "text": show_number(value.number, decimal=True)} for name, value in values.items()
        }
        execution = await self._maths.execute(Action(("R",), "Calculator", text), bare)
        if execution.status in _UNREADABLE or (execution.ok and execution.values[0]["kind"] != "number"):
            raise Unclear(execution.message or f"'{text[:60]}' is no number")
        if not execution.ok:
            raise ActionError(execution.status, execution.message)
        if (number := parse_number(execution.result)) is None:
            raise Unclear(f"'{execution.result[:60]}' is no number")
        return Quantity(number)

    def _quantity(self, name: str) -> Quantity:
        value = read_value(str(self._variables[name]["text"]))
        if not isinstance(value, Quantity):
            raise Unclear(f"{name} is no number")
        return value


def read_literal(text: str) -> Quantity | When | bool | None:
    """Return the value of an operand without variables; None if it may be arithmetic. Raises Unclear."""
    if not _ONLY_NUMBERS.fullmatch(text):
        return read_value(text)
    if _ISO_DATE.fullmatch(text):
        return read_date(text)
    if _DAY_FIRST.fullmatch(text):
        raise Unclear(f"'{text[:60]}' is a date or a quotient")
    return read_quantity(text)


def compare(left: Operand, mark: str, right: Operand) -> bool:
    """Return whether the relation `mark` holds. Raises Unclear if that makes no sense, or cannot be known."""
    mark = _RELATIONS.get(mark, mark)
    if isinstance(left, str) or isinstance(right, str):
        if isinstance(left, str) and isinstance(right, str) and _plain(left) == _plain(right) and mark in ("=", "!="):
            return mark == "="
        raise Unclear("a text was compared")
    if isinstance(left, bool) or isinstance(right, bool):
        if type(left) is not type(right) or mark not in ("=", "!="):
            raise Unclear("yes and no have no order")
        return (left == right) == (mark == "=")
    if isinstance(left, When) or isinstance(right, When):
        return _dates(_date(left), mark, _date(right))
    answers = {_holds(left_number, mark, right_number) for left_number, right_number in readings(left, right)}
    if len(answers) != 1:
        raise Unclear(f"a number of '{left.unit[:40]}' and one of '{right.unit[:40]}' were compared")
    return answers.pop()


def _is_bracket(text: str) -> bool:
    """Return whether the text's first bracket is closed by its last character."""
    if not (text.startswith("(") and text.endswith(")")):
        return False
    depth = 0
    for letter in text[:-1]:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth == 0:
            return False
    return depth == 1


def _holds(left: Any, mark: str, right: Any) -> bool:
    holds = {
        "=": left == right,
        "!=": left != right,
        "<": left < right,
        ">": left > right,
        "<=": left <= right,
        ">=": left >= right,
    }
    return holds[mark]


def _date(value: Quantity | When | bool) -> When:
    if isinstance(value, When):
        return value
    if not isinstance(value, Quantity) or value.unit or value.number.denominator != 1 or abs(value.number) > 9999:
        raise Unclear("a date was compared with something else")
    return When(int(value.number))


def _dates(left_date: When, mark: str, right_date: When) -> bool:
    """Return whether a relation holds between the parts that both dates have: June 4, 1990 equals 1990.

    Raises Unclear if an order depends on a part that only one date has.
    """
    pairs = zip(
        (left_date.year, left_date.month, left_date.day),
        (right_date.year, right_date.month, right_date.day),
        strict=True,
    )
    for left, right in pairs:
        if left is None or right is None:
            if left is right or mark in ("=", "!="):
                break
            raise Unclear("one of the dates is not exact enough")
        if left != right:
            return _holds(left, mark, right)
    return mark in ("=", "<=", ">=")


def _plain(text: str) -> str:
    return " ".join(re.sub(r"[^\w\s]", " ", text.casefold()).split())


def _value(operand: Operand) -> dict[str, Any]:
    if isinstance(operand, bool):
        return {"kind": "boolean", "text": "yes" if operand else "no"}
    if isinstance(operand, Quantity):
        return {"kind": "number", "text": show_quantity(operand, show_number(operand.number, decimal=True))}
    if isinstance(operand, When):
        parts = [f"{abs(operand.year):04}", *(f"{part:02}" for part in (operand.month, operand.day) if part)]
        return {"kind": "date", "text": "-".join(parts) + (" BC" if operand.year < 0 else "")}
    raise Unclear(f"'{operand[:60]}' is no number")
