"""Sums, differences, products and quotients of quantities with units. What has no certain unit is Unclear."""

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
    """Raised when a text, or a value in it, cannot be read: a model has to be asked."""


def names_units(text: str) -> bool:
    """Whether a formula itself has words, signs of currencies or per cent, besides variables and functions."""
    plain = _VARIABLE.sub("", _SCIENTIFIC.sub("1", text))
    words = {word.lower() for word in re.findall(r"[^\W\d_]+", plain)}
    return bool(_SIGN.search(plain) or words - FUNCTIONS - _OPERATOR_WORDS)


def evaluate(text: str, values: Mapping[str, Quantity]) -> Quantity:
    """The value of a formula of `+ - * /` and brackets. Raises Unclear, and ActionError for a division by zero."""
    reader = _Formula(_tokens(text), values)
    found = reader.sum()
    if reader.has_more():
        raise Unclear(f"'{text[:60]}' cannot be read")
    return found


def _tokens(text: str) -> list[str]:
    tokens, start = [], 0
    for found in _OPERATOR.finditer(text):
        tokens += [text[start : found.start()].strip(), _SPELLINGS.get(found[0].strip(), found[0].strip())]
        start = found.end()
    return [token for token in [*tokens, text[start:].strip()] if token]


class _Formula:
    def __init__(self, tokens: list[str], values: Mapping[str, Quantity]):
        self._tokens, self._values, self._at = tokens, values, 0

    def has_more(self) -> bool:
        return self._at < len(self._tokens)

    def sum(self) -> Quantity:
        return self._join("+-", self._product, _add)

    def _product(self) -> Quantity:
        return self._join("*/", self._unary, _multiply)

    def _join(self, marks: str, part: Callable[[], Quantity], join: Callable) -> Quantity:
        found = part()
        while self.has_more() and self._tokens[self._at] in marks:
            mark = self._next()
            found = join(found, mark, part())
        return found

    def _unary(self) -> Quantity:
        signs = 0
        while self.has_more() and self._tokens[self._at] in "+-":
            signs += self._next() == "-"
        found = self._atom()
        return Quantity(-found.number, found.unit) if signs % 2 else found

    def _atom(self) -> Quantity:
        token = self._next()
        if token == "(":
            found = self.sum()
            if self._next() != ")":
                raise Unclear("a bracket is not closed")
            return found
        value = self._values.get(token) if _VARIABLE.fullmatch(token) else read_value(token)
        if not isinstance(value, Quantity):
            raise Unclear(f"'{token[:60]}' is no number")
        return value

    def _next(self) -> str:
        if not self.has_more():
            raise Unclear("an operand is missing")
        self._at += 1
        return self._tokens[self._at - 1]


def _add(one: Quantity, mark: str, other: Quantity) -> Quantity:
    left, right = _in_one_unit(one, other)
    unit = one.unit or other.unit
    if (not one.unit or not other.unit) and unit and measures_time(unit):
        bare = other if one.unit else one
        if bare.number.denominator == 1 and 1000 <= abs(bare.number) <= 2999:  # a year
            if bare is other or not same_unit(unit, "year"):
                raise Unclear(f"a number and {unit[:40]} were added")
            unit = ""
    return Quantity(left + right if mark == "+" else left - right, unit)


def _in_one_unit(one: Quantity, other: Quantity) -> tuple[Fraction, Fraction]:
    units = (one.unit, other.unit)
    found = readings(one, other)
    if len(found) != 1 or (not same_unit(*units) and any(map(is_temperature, units))):
        raise Unclear(f"a number of '{one.unit[:40]}' and one of '{other.unit[:40]}' do not go together")
    return found[0]


def _multiply(one: Quantity, mark: str, other: Quantity) -> Quantity:
    if mark == "/" and not other.number:
        raise ActionError("division_by_zero", "division by zero")
    if mark == "/" and one.unit and other.unit and not (other.unit == "%" != one.unit):
        left, right = _in_one_unit(one, other)
        return Quantity(left / right)
    one, other = _hundredths(one), _hundredths(other)
    if other.unit and (one.unit or mark == "/"):
        raise Unclear(f"'{one.unit[:40]}' and '{other.unit[:40]}' were multiplied or divided")
    number = one.number * other.number if mark == "*" else one.number / other.number
    return Quantity(number, one.unit or other.unit)


def _hundredths(one: Quantity) -> Quantity:
    if is_temperature(one.unit):
        raise Unclear("a temperature was multiplied or divided")
    return Quantity(one.number / 100) if one.unit == "%" else one
