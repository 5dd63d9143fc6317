"""Write nodes as canonical text, which is parsed to the same value: `-2y`, `2p/5`, `(p+600)/4`, `x > 2`, `a = b`."""

from __future__ import annotations

import re
from fractions import Fraction

from lumos_queue.actions.algebra.nodes import RELATIONS, Node
from lumos_queue.actions.algebra.tokens import RESERVED
from lumos_queue.scoring.numbers import show_number

_SUM, _PRODUCT, _POWER, _ATOM = 1, 2, 3, 4

_ENDS_IN_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?$")
_ENDS_IN_LETTER = re.compile(r"-?(?:[0-9]+(?:\.[0-9]+)?)?[^\W\d_]$")
_BEGINS_WITH_LETTER = re.compile(r"([^\W\d_])(?![\w(])")
_BEGINS_WITH_WORD = re.compile(r"([^\W\d_]{1,2})(?![\w(])|\(|sqrt\(")


def show(node: Node, decimal: bool) -> str:
    """Return the node's text. If `decimal`, numbers with finitely many decimals are decimals, else fractions."""
    return _show(node, decimal)[0]


def _show(node: Node, decimal: bool) -> tuple[str, int]:
    """Return the node's text, and how tightly its outermost operator binds."""
    if isinstance(node, Fraction):
        text = show_number(node, decimal)
        return text, _SUM if node < 0 else _PRODUCT if "/" in text else _ATOM
    operator = node[0]
    if operator == "name":
        return node[1], _ATOM
    if operator == "call":
        if node[1] == "pi":
            return "pi", _ATOM
        return f"{node[1]}({', '.join(show(part, decimal) for part in node[2:])})", _ATOM
    if operator == "list":
        return ", ".join(show(part, decimal) for part in node[1:]), 0
    left, right = _show(node[1], decimal), _show(node[2], decimal)
    if operator in RELATIONS:
        return f"{left[0]} {operator} {right[0]}", 0
    if operator == "+":
        return left[0] + (right[0] if right[0].startswith("-") else f"+{right[0]}"), _SUM
    if operator == "-":
        return f"{left[0]}-{_at_least(_PRODUCT, right)}", _SUM
    if operator == "*":
        return _product(node, left, right, decimal)
    if operator == "/":
        return f"{_at_least(_PRODUCT, left)}/{_at_least(_POWER, right)}", _sign(_at_least(_PRODUCT, left))
    return f"{_at_least(_ATOM, left)}^{_at_least(_ATOM, right)}", _POWER


def _at_least(level: int, part: tuple[str, int]) -> str:
    """Return the text, in brackets if its operator binds more loosely than `level`."""
    return part[0] if part[1] >= level else f"({part[0]})"


def _sign(text: str) -> int:
    """Return how tightly a product binds: like a sum if it begins with a minus sign."""
    return _SUM if text.startswith("-") else _PRODUCT


def _product(node: Node, left: tuple[str, int], right: tuple[str, int], decimal: bool) -> tuple[str, int]:
    if node[1] == -1:
        text = f"-{_at_least(_PRODUCT, right)}"
        return text, _SUM
    if isinstance(node[1], Fraction) and left[1] != _ATOM:  # -2y, 2p/5, -3x/4
        over, under = Fraction(node[1].numerator), Fraction(node[1].denominator)
        if "/" not in left[0]:
            text = _join(left[0], _at_least(_POWER, right))
            return text, _sign(text)
        numerator = _show(("*", over, node[2]) if over != 1 else node[2], decimal)
        text = f"{numerator[0] if numerator[1] >= _PRODUCT or over < 0 else f'({numerator[0]})'}/{under.numerator}"
        return text, _sign(text)
    text = _join(_at_least(_PRODUCT, left), _at_least(_POWER if _is_quotient(node[2]) else _PRODUCT, right))
    return text, _sign(text)


def _is_quotient(node: Node) -> bool:
    return isinstance(node, Fraction) or node[0] in ("/", "*")


def _join(left: str, right: str) -> str:
    """Return two factors side by side if that is parsed as their product, else with `*` between them."""
    word = _BEGINS_WITH_WORD.match(right)
    # `2e+1` would read as a power of ten.
    if _ENDS_IN_NUMBER.fullmatch(left) and word and word[1] not in RESERVED and word[1] not in ("e", "E"):
        return left + right
    letter = _BEGINS_WITH_LETTER.match(right)
    if _ENDS_IN_LETTER.fullmatch(left) and letter and left[-1] + letter[1] not in RESERVED:
        return left + right
    return f"{left}*{right}"
