"""Compute sums, differences, products and quotients of quantities. Raise Unclear if the result's unit is uncertain."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction

from lumos_queue.actions.algebra.tokens import FUNCTIONS
from lumos_queue.actions.quantities.kinds import Quantity
from lumos_queue.actions.quantities.reading import read_value
from lumos_queue.actions.quantities.units import is_temperature, measures_time, readings, same_unit
from lumos_queue.errors import ActionError

_VARIABLE = re.compile(r"(?:R[0-9]{1,6}|Output)(?!\w)")
#: A hyphen between letters is not a minus sign: `twenty-one`, `light-years`.
_OPERATOR = re.compile(r"[+*/×÷·()]|(?<![^\W\d_])[-−–]|[-−–](?![^\W\d_])|(?<=%)\s*of\b")
_SPELLINGS = {"×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "of": "*"}
_SCIENTIFIC = re.compile(r"[0-9.][eE][+-]?[0-9]+")
_SIGN = re.compile(r"[$€£¥₹¢°]|%(?!\s*[\w(])")  # `7 % 3` is a remainder
_OPERATOR_WORDS = frozenset({"of", "mod", "x", "pi"})


class Unclear(Exception):
    """Raised if a formula or a value in it cannot be read with certainty. The caller then asks a model."""


def names_units(text: str) -> bool:
    """Return whether a formula contains units: words other than functions, signs of currencies or per cent."""
    plain = _VARIABLE.sub("", _SCIENTIFIC.sub("1", text))
    words = {word.lower() for word in re.findall(r"[^\W\d_]+", plain)}
    return bool(_SIGN.search(plain) or words - FUNCTIONS - _OPERATOR_WORDS)


def evaluate(text: str, values: Mapping[str, Quantity]) -> Quantity:
    """Return the value of a formula of `+ - * /` and brackets. Raises Unclear; ActionError for a division by zero."""
    reader = _Formula(_tokens(text), values)
    quantity = reader.sum()
    if reader.has_more():
        raise Unclear(f"'{text[:60]}' cannot be read")
    return quantity


def _tokens(text: str) -> list[str]:
    tokens, start = [], 0
    for match in _OPERATOR.finditer(text):
        tokens += [text[start : match.start()].strip(), _SPELLINGS.get(match[0].strip(), match[0].strip())]
        start = match.end()
    return [token for token in [*tokens, text[start:].strip()] if token]


class _Formula:
    def __init__(self, tokens: list[str], values: Mapping[str, Quantity]):
        self._tokens, self._values, self._position = tokens, values, 0

    def has_more(self) -> bool:
        return self._position < len(self._tokens)

    def sum(self) -> Quantity:
        return self._join("+-", self._product, _add)

    def _product(self) -> Quantity:
        return self._join("*/", self._unary, _multiply)

    def _join(self, marks: str, part: Callable[[], Quantity], join: Callable) -> Quantity:
        quantity = part()
        while self.has_more() and self._tokens[self._position] in marks:
            mark = self._next()
            quantity = join(quantity, mark, part())
        return quantity

    def _unary(self) -> Quantity:
        signs = 0
        while self.has_more() and self._tokens[self._position] in "+-":
            signs += self._next() == "-"
        quantity = self._atom()
        return Quantity(-quantity.number, quantity.unit) if signs % 2 else quantity

    def _atom(self) -> Quantity:
        token = self._next()
        if token == "(":
            quantity = self.sum()
            if self._next() != ")":
                raise Unclear("a bracket is not closed")
            return quantity
        value = self._values.get(token) if _VARIABLE.fullmatch(token) else read_value(token)
        if not isinstance(value, Quantity):
            raise Unclear(f"'{token[:60]}' is no number")
        return value

    def _next(self) -> str:
        if not self.has_more():
            raise Unclear("an operand is missing")
        self._position += 1
        return self._tokens[self._position - 1]


def _add(left: Quantity, mark: str, right: Quantity) -> Quantity:
    left_number, right_number = _in_one_unit(left, right)
    unit = left.unit or right.unit
    if (not left.unit or not right.unit) and unit and measures_time(unit):
        bare = right if left.unit else left
        if bare.number.denominator == 1 and 1000 <= abs(bare.number) <= 2999:  # a year
            if bare is right or not same_unit(unit, "year"):
                raise Unclear(f"a number and {unit[:40]} were added")
            unit = ""
    return Quantity(left_number + right_number if mark == "+" else left_number - right_number, unit)


def _in_one_unit(left: Quantity, right: Quantity) -> tuple[Fraction, Fraction]:
    units = (left.unit, right.unit)
    numbers = readings(left, right)
    if len(numbers) != 1 or (not same_unit(*units) and any(map(is_temperature, units))):
        raise Unclear(f"a number of '{left.unit[:40]}' and one of '{right.unit[:40]}' do not go together")
    return numbers[0]


def _multiply(left: Quantity, mark: str, right: Quantity) -> Quantity:
    if mark == "/" and not right.number:
        raise ActionError("division_by_zero", "division by zero")
    if mark == "/" and left.unit and right.unit and not (right.unit == "%" != left.unit):
        left_number, right_number = _in_one_unit(left, right)
        return Quantity(left_number / right_number)
    left, right = _hundredths(left), _hundredths(right)
    if right.unit and (left.unit or mark == "/"):
        raise Unclear(f"'{left.unit[:40]}' and '{right.unit[:40]}' were multiplied or divided")
    number = left.number * right.number if mark == "*" else left.number / right.number
    return Quantity(number, left.unit or right.unit)


def _hundredths(quantity: Quantity) -> Quantity:
    if is_temperature(quantity.unit):
        raise Unclear("a temperature was multiplied or divided")
    return Quantity(quantity.number / 100) if quantity.unit == "%" else quantity
