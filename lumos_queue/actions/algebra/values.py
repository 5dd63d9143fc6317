"""Convert nodes and solutions to the JSON values that an execution stores."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from lumos_queue.actions.algebra.kinds import failure
from lumos_queue.actions.algebra.nodes import RELATIONS, Node, from_json
from lumos_queue.actions.algebra.show import show

Value = dict[str, Any]


def as_value(node: Node, decimal: bool) -> Value:
    """Return the JSON value of a node. `decimal`: as in `show`."""
    text = show(node, decimal)
    if isinstance(node, Fraction):
        return {"kind": "number", "text": text}
    if node[0] == "list":
        return {"kind": "list", "text": text, "items": [show(part, decimal) for part in node[1:]]}
    if node[0] in RELATIONS:
        return {"kind": "equation" if node[0] == "=" else "inequality", "text": text}
    return {"kind": "expression", "text": text}


def assign(rows: list[list[Node]], unknowns: list[str], count: int, decimal: bool) -> list[Value]:
    """Return a value for each of the action's `count` variables. `rows`: the solutions, with a node for each unknown.

    The roots of a single unknown are assigned in order, and the last variable gets all remaining roots. Several
    unknowns have a variable each, or share one variable. Raises ActionError of kind no_solution or arity.
    """
    if not rows:
        raise failure("no_solution", f"no real solution for {', '.join(unknowns)}")
    if len(unknowns) == 1:
        roots = [row[0] for row in rows]
        if len(roots) < count:
            raise failure("arity", f"{count} variables for {len(roots)} roots")
        groups = [[root] for root in roots[: count - 1]] + [roots[count - 1 :]]
        return [_root_value(group, unknowns, decimal) for group in groups]
    if count == 1:
        return [_root_value([node for row in rows for node in row], unknowns, decimal)]
    if count != len(unknowns):
        raise failure("arity", f"{count} variables for {len(unknowns)} unknowns: {', '.join(unknowns)}")
    return [_root_value([row[i] for row in rows], [unknown], decimal) for i, unknown in enumerate(unknowns)]


def _root_value(nodes: list[Node], symbols: list[str], decimal: bool) -> Value:
    if len(nodes) == 1:
        return {**as_value(nodes[0], decimal), "symbols": symbols}
    return {**as_value(("list", *nodes), decimal), "kind": "solution", "symbols": symbols}


def range_value(pieces: list[dict], unknown: str, decimal: bool) -> Value:
    """Return the value of an unknown's intervals: `1 < x <= 3`, or several joined by `or`.

    Raises ActionError if there is no interval.
    """
    texts = []
    for piece in pieces:
        low, high = (show(from_json(piece[end]), decimal) if piece[end] is not None else "" for end in ("low", "high"))
        below, above = ("<" if piece["low_open"] else "<="), ("<" if piece["high_open"] else "<=")
        if low and low == high:
            texts.append(f"{unknown} = {low}")
        elif low and high:
            texts.append(f"{low} {below} {unknown} {above} {high}")
        elif low:
            texts.append(f"{unknown} {below.replace('<', '>')} {low}")
        elif high:
            texts.append(f"{unknown} {above} {high}")
    if not pieces:
        raise failure("no_solution", f"no real {unknown} fulfils this")
    simple = len(texts) == 1 and texts[0].startswith(unknown)
    return {"kind": "inequality" if simple else "text", "text": " or ".join(texts) or f"all real {unknown}"}


def relation_value(node: Node, decimal: bool) -> Value:
    """Return the value of a relation between numbers: 5 for `2 + 3 = 5`, else the text True or False."""
    operator, left, right = node
    if operator == "=" and left == right:
        return as_value(left, decimal)
    holds = {"=": False, "<": left < right, ">": left > right, "<=": left <= right, ">=": left >= right}[operator]
    return {"kind": "text", "text": str(holds)}
