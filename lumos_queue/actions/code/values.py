"""Convert values between executions and a running program.

A number becomes an int or the nearest float, and so does a text of a number, without its unit (`$2.5 million`,
`330 metres`); per cent become hundredths. yes, no, true and false become truth values; other texts stay unchanged.
A float that a program returns becomes the first of these that exists: the variable that it equals; its decimal of up
to 15 digits; a fraction of a small denominator within a few roundings of it, which turns 0.30000000000000004 into 0.3
and recovers 1/3; its shortest decimal. A truth value becomes the text True or False, as in the other maths actions.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from lumos_queue.actions.algebra.formula import value_node
from lumos_queue.actions.algebra.kinds import MAX_BITS
from lumos_queue.actions.algebra.nodes import Node, names
from lumos_queue.actions.quantities.kinds import Quantity, When
from lumos_queue.actions.quantities.reading import read_value
from lumos_queue.actions.quantities.units import is_open, same_unit
from lumos_queue.episode import Variables
from lumos_queue.errors import ActionError
from lumos_queue.scoring.numbers import parse_number, show_number

MAX_DENOMINATOR = 10_000
NEAR = 2.0**-49  #: of a float: about eight times the distance to the next one
CHANCE = 1e-3  #: probability that a float is so near a fraction by accident
DECIMALS = 15  #: digits that a float holds for certain

_NUMERAL = re.compile(r"[-−]?[0-9][0-9,]*(?:\.[0-9]+)?(?:/[0-9]+)?")  #: a text that is a bare number
#: The functions of formulas that have another name in Python's `math`, or are builtins.
_FUNCTIONS = {"abs": "abs", "min": "min", "max": "max", "ln": "math.log", "pi": "math.pi"}


def as_inputs(values: Variables) -> dict[str, Any]:
    """Return stored values as JSON for the child. Raises ActionError of kind not_a_number if their units differ.

    A number without a unit may be used with any unit except per cent and `m`, which may mean million.
    """
    quantities = [(name, quantity) for name, value in values.items() for quantity in _quantities(value)]
    for index, (name, quantity) in enumerate(quantities):
        for earlier_name, earlier in quantities[:index]:
            bare = not quantity.unit or not earlier.unit
            if is_open(quantity.unit + earlier.unit) if bare else not same_unit(quantity.unit, earlier.unit):
                units = " and ".join(f"'{unit[:40]}'" if unit else "none" for unit in (earlier.unit, quantity.unit))
                message = f"{earlier_name} and {name} have different units ({units}): compare or reckon by Calculator"
                raise ActionError("not_a_number", message)
    return {name: as_input(value) for name, value in values.items()}


def unsure_names(values: Variables) -> list[str]:
    """Return the names of variables with a unit beside which a number without a unit is ambiguous."""
    return [name for name, value in values.items() if any(is_open(quantity.unit) for quantity in _quantities(value))]


def _quantities(value: Mapping[str, Any]) -> Iterator[Quantity]:
    """Yield the numbers in a value's texts."""
    if value.get("kind") == "expression":
        return
    for item in value["items"] if "items" in value else [value.get("text", "")]:
        if isinstance(item, Mapping):
            yield from _quantities(item)
        elif isinstance(quantity := _read(str(item)), Quantity):
            yield quantity


def _read(text: str) -> Quantity | When | bool | None:
    if _NUMERAL.fullmatch(text.strip()) and (number := parse_number(text)) is not None:
        return Quantity(number)
    return read_value(text)


def as_input(value: Mapping[str, Any]) -> Any:
    """Return a stored value as JSON for the child.

    {"over": a, "under": b} is a fraction. {"python": "n-2", "of": ["n"]} is an expression, which becomes a function
    of its unknowns in alphabetical order.
    """
    kind, text = value.get("kind"), str(value.get("text", ""))
    if kind in ("list", "solution") or "items" in value:
        return [_item(item) for item in value.get("items", ())]
    if kind == "expression":
        node, _ = value_node(value)
        return (
            _number(node) if isinstance(node, Fraction) else {"python": _python(node), "of": sorted(set(names(node)))}
        )
    return _item(text)


def _item(item: Any) -> Any:
    if isinstance(item, Mapping):
        return as_input(item)
    reading = _read(str(item))
    if isinstance(reading, Quantity):
        return _number(reading.number / 100 if reading.unit == "%" else reading.number)
    return reading if isinstance(reading, bool) else str(item)


def _number(value: Fraction) -> Any:
    if value.denominator == 1:
        return value.numerator
    try:
        float(value)
    except OverflowError:
        raise ActionError("too_large", "a fraction is too large for a program") from None
    return {"over": value.numerator, "under": value.denominator}


def _python(node: Node) -> str:
    """Return a formula as a Python expression."""
    if isinstance(node, Fraction):
        return f"({node.numerator}/{node.denominator})" if node.denominator != 1 else f"({node.numerator})"
    operator, *parts = node
    if operator == "name":
        return parts[0]
    if operator == "call":
        name = _FUNCTIONS.get(parts[0], f"math.{parts[0]}")
        return name if parts[0] == "pi" else f"{name}({', '.join(map(_python, parts[1:]))})"
    return f"({_python(parts[0])} {'**' if operator == '^' else operator} {_python(parts[1])})"


def exact_numbers(values: Iterable[Mapping[str, Any]]) -> dict[float, Fraction]:
    """Return a map from the floats of a program to the exact fractions of the variables, and to their negatives."""
    fractions = {}
    for value in values:
        data = as_input(value)
        for part in data if isinstance(data, list) else [data]:
            if isinstance(part, dict) and "over" in part:
                number = Fraction(part["over"], part["under"])
                fractions |= {float(number): number, -float(number): -number}
    return fractions


def as_value(result: Any, exact: Mapping[float, Fraction]) -> dict[str, Any]:
    """Return the stored value of a child's reply: {"int": …}, {"float": …}, text, truth value, list or object."""
    if isinstance(result, dict) and ("int" in result or "float" in result):
        return {"kind": "number", "text": _text(result, exact)}
    if isinstance(result, list):
        items = [_text(part, exact) for part in result]
        return {"kind": "list", "text": ", ".join(items), "items": items}
    return {"kind": "text", "text": _text(result, exact)}


def spread(value: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Return the items of a list if there are as many as variables (`count`), else a list of only the value itself."""
    items = value.get("items", ())
    if count == 1 or len(items) != count:
        return [value]
    return [{"kind": "number" if _NUMERAL.fullmatch(item) else "text", "text": item} for item in items]


def _text(result: Any, exact: Mapping[float, Fraction]) -> str:
    if isinstance(result, str | bool):
        return str(result)
    if isinstance(result, list):
        return f"[{', '.join(_text(part, exact) for part in result)}]"
    if "int" in result:
        return str(int(result["int"], 16))
    if "float" in result:
        value = _exact(result["float"], exact)
        return show_number(value, decimal=True)
    return json.dumps({name: _text(part, exact) for name, part in result["object"]}, ensure_ascii=False)


def _exact(text: str, exact: Mapping[float, Fraction]) -> Fraction:
    value = float(text)
    if not math.isfinite(value):
        raise ActionError("not_a_number", f"the program's value is {text}, which is no number")
    if value in exact:
        return exact[value]
    shortest = repr(value)  # not of the text: a Decimal's exponent has no end
    decimal = Fraction(shortest)
    if value and len(re.sub(r"e.*|[-.]", "", shortest).strip("0")) > DECIMALS:
        whole = Fraction(value)
        # So many fractions of a denominator up to d lie within NEAR of a number x by chance: x * NEAR * d * d.
        limit = math.isqrt(int(CHANCE / NEAR / abs(value))) if abs(value) > 1e-3 else MAX_DENOMINATOR
        fraction = whole.limit_denominator(max(1, min(MAX_DENOMINATOR, limit)))
        if fraction and abs(fraction - whole) <= abs(whole) * Fraction(NEAR):
            return fraction
    if decimal.numerator.bit_length() > MAX_BITS or decimal.denominator.bit_length() > MAX_BITS:
        raise ActionError("too_large", f"a number needs more than {MAX_BITS} bits")
    return decimal
