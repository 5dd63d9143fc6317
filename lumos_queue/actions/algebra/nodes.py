"""Formulas as trees, evaluated while they are built: a formula of numbers alone becomes an exact Fraction.

A node is a Fraction or a tuple: ('name', 'x'), (operator, left, right) with one of + - * / ^ = < > <= >=,
('call', function, argument, …) or ('list', node, …). Nodes go to the child process as JSON (`to_json`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

from lumos_queue.actions.algebra.kinds import MAX_BITS, MAX_NODES, MAX_POWER, failure

Node: TypeAlias = Any  #: a Fraction or a tuple as above; its type is not declared
RELATIONS = frozenset({"=", "<", ">", "<=", ">="})


def combine(operator: str, left: Node, right: Node) -> Node:
    """Return the node of `left operator right`. Two numbers give a number; an equation is combined side by side.

    Raises ActionError of kind division_by_zero, too_large or not_a_number.
    """
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return _arithmetic(operator, left, right)
    sides = (_is_relation(left), _is_relation(right))
    if any(sides):
        return _per_side(operator, left, right, sides)
    for operand in (left, right):
        if isinstance(operand, tuple) and operand[0] == "list":
            raise failure("not_a_number", f"{len(operand) - 1} values stand where one is needed")
    if operator == "/" and right == 0:
        raise failure("division_by_zero", "division by zero")
    if operator == "mod":
        raise failure("not_a_number", "a remainder needs two numbers")
    if operator == "^" and isinstance(right, Fraction) and abs(right) > MAX_POWER:
        raise failure("too_large", f"an exponent may be {MAX_POWER} at most")
    return (operator, left, right)


def _arithmetic(operator: str, left: Fraction, right: Fraction) -> Node:
    if operator == "+":
        value = left + right
    elif operator == "-":
        value = left - right
    elif operator == "*":
        value = left * right
    elif operator == "^":
        return _power(left, right)
    elif right == 0:
        raise failure("division_by_zero", "division by zero")
    else:
        value = left / right if operator == "/" else left % right
    return require_bits(value)


def require_bits(value: Fraction) -> Fraction:
    """Return the value. Raises ActionError of kind too_large if it needs more than MAX_BITS."""
    if value.numerator.bit_length() > MAX_BITS or value.denominator.bit_length() > MAX_BITS:
        raise failure("too_large", f"a number needs more than {MAX_BITS} bits")
    return value


def _power(base: Fraction, exponent: Fraction) -> Node:
    """Return a power: a number if it is exact, else a node. Raises ActionError if it may need more than MAX_BITS."""
    if base == 0 and exponent < 0:
        raise failure("division_by_zero", "a negative power of zero")
    if base in (0, 1) and exponent != 0:
        return base
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    if abs(exponent) > MAX_POWER or bits * (abs(exponent) + 1) > MAX_BITS or exponent.denominator > MAX_POWER:
        raise failure("too_large", f"a power needs more than {MAX_BITS} bits")
    if exponent.denominator == 1:
        return base**exponent.numerator
    root = exact_root(base, exponent.denominator)
    return ("^", base, exponent) if root is None else root**exponent.numerator


def exact_root(value: Fraction, degree: int) -> Fraction | None:
    """Return the real root if it is a fraction, else None."""
    if value < 0:
        if degree % 2 == 0:
            return None
        root = exact_root(-value, degree)
        return None if root is None else -root
    over, under = _whole_root(value.numerator, degree), _whole_root(value.denominator, degree)
    return None if over is None or under is None else Fraction(over, under)


def _whole_root(value: int, degree: int) -> int | None:
    if degree == 2:
        root = math.isqrt(value)
        return root if root * root == value else None
    low, high = 0, 1 << (value.bit_length() // degree + 1)
    while low < high:
        middle = (low + high) // 2
        if middle**degree < value:
            low = middle + 1
        else:
            high = middle
    return low if low**degree == value else None


def _is_relation(node: Node) -> bool:
    return isinstance(node, tuple) and node[0] in RELATIONS


def _per_side(operator: str, left: Node, right: Node, sides: tuple[bool, bool]) -> Node:
    """Return an operation on equations as an equation: (a = b) + (c = d) is a+c = b+d; (a = b) * 2 is 2a = 2b."""
    relations = {node[0] for node, is_relation in zip((left, right), sides, strict=True) if is_relation}
    if relations != {"="}:
        raise failure("not_a_number", "inequalities cannot be combined by arithmetic")
    left_sides, right_sides = (left[1:] if sides[0] else (left, left)), (right[1:] if sides[1] else (right, right))
    return ("=", combine(operator, left_sides[0], right_sides[0]), combine(operator, left_sides[1], right_sides[1]))


def call(function: str, arguments: list[Node]) -> Node:
    """Return the node of a function call: a number if the arguments are numbers and the result is exact.

    Raises ActionError.
    """
    if len(arguments) == 1 and isinstance(arguments[0], tuple) and arguments[0][0] == "list":
        arguments = list(arguments[0][1:])
    if any(isinstance(node, tuple) and (node[0] == "list" or _is_relation(node)) for node in arguments):
        raise failure("not_a_number", f"{function} takes numbers and expressions")
    if function == "sum":
        total: Node = Fraction(0)
        for node in arguments:
            total = combine("+", total, node)
        return total
    min_count, max_count = _ARITY.get(function, (1, 1))
    if not min_count <= len(arguments) <= max_count:
        raise failure("arity", f"{function} does not take {len(arguments)} arguments")
    if function == "mod":
        return combine("mod", *arguments)
    if all(isinstance(node, Fraction) for node in arguments):
        value = _NUMERIC[function](*arguments) if function in _NUMERIC else None
        if value is not None:
            return require_bits(value)
    return ("call", function, *arguments)


_ARITY = {"min": (1, 99), "max": (1, 99), "gcd": (1, 99), "lcm": (1, 20), "mod": (2, 2), "round": (1, 2), "pi": (0, 0)}


def _whole(*values: Fraction) -> list[int]:
    if any(value.denominator != 1 for value in values):
        raise failure("not_a_number", "whole numbers are needed")
    return [value.numerator for value in values]


def _factorial(value: Fraction) -> Fraction:
    (count,) = _whole(value)
    if not 0 <= count <= 500:
        raise failure("too_large", "a factorial is offered from 0 to 500")
    return Fraction(math.factorial(count))


def _round(value: Fraction, decimals: Fraction = Fraction(0)) -> Fraction:
    """Round to `decimals` places, halves away from zero."""
    (count,) = _whole(decimals)
    if not -20 <= count <= 20:
        raise failure("too_large", "rounding is offered to 20 places")
    scaled_value = abs(value) * Fraction(10) ** count
    rounded_value = Fraction(math.floor(scaled_value + Fraction(1, 2))) / Fraction(10) ** count
    return -rounded_value if value < 0 else rounded_value


_NUMERIC = {
    "abs": abs,
    "sqrt": lambda value: exact_root(value, 2),
    "floor": lambda value: Fraction(math.floor(value)),
    "ceil": lambda value: Fraction(math.ceil(value)),
    "min": lambda *values: min(values),
    "max": lambda *values: max(values),
    "round": _round,
    "gcd": lambda *values: Fraction(math.gcd(*_whole(*values))),
    "lcm": lambda *values: Fraction(math.lcm(*_whole(*values))),
    "factorial": _factorial,
    "exp": lambda value: Fraction(1) if value == 0 else None,
    "ln": lambda value: Fraction(0) if value == 1 else None,
    "log": lambda value: Fraction(0) if value == 1 else None,
}


def substitute(node: Node, bindings: Mapping[str, Node]) -> Node:
    """Return the node with its unknowns replaced by the nodes of `bindings`, evaluated again."""
    if isinstance(node, Fraction):
        return node
    if node[0] == "name":
        return bindings.get(node[1], node)
    if node[0] == "call":
        return call(node[1], [substitute(part, bindings) for part in node[2:]])
    parts = [substitute(part, bindings) for part in node[1:]]
    if node[0] == "list" or node[0] in RELATIONS:
        return (node[0], *parts)
    return combine(node[0], *parts)


def names(node: Node) -> Iterator[str]:
    """Yield the names of a node's unknowns in order of appearance, with repetitions."""
    if isinstance(node, tuple):
        if node[0] == "name":
            yield node[1]
        else:
            for part in node[2:] if node[0] == "call" else node[1:]:
                yield from names(part)


def require_size(node: Node) -> Node:
    """Return the node. Raises ActionError of kind too_large if it has more than MAX_NODES parts.

    A formula can double with every variable that is filled in, so its parts are counted before it is processed.
    """
    if isinstance(node, tuple):
        pending, count = [node], 0
        while pending:
            count += 1
            if count > MAX_NODES:
                raise failure("too_large", f"a formula may have {MAX_NODES} parts once its variables are filled in")
            pending += [part for part in pending.pop()[1:] if isinstance(part, tuple)]
    return node


def to_json(node: Node) -> str | list[Any]:
    """Return the node as nested lists and strings for JSON; a number becomes the string `p/q`."""
    if isinstance(node, Fraction):
        return str(node)
    if node[0] == "name":
        return list(node)
    if node[0] == "call":
        return ["call", node[1], *map(to_json, node[2:])]
    return [node[0], *map(to_json, node[1:])]


def from_json(data: str | list[Any]) -> Node:
    """Return the node that `to_json` wrote. Raises ActionError of kind too_large for a number beyond the limits."""
    if isinstance(data, str):
        return require_bits(Fraction(data))
    if data[0] == "name":
        return ("name", data[1])
    if data[0] == "call":
        return ("call", data[1], *map(from_json, data[2:]))
    return (data[0], *map(from_json, data[1:]))
