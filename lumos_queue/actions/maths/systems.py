"""Select the equations or inequalities to solve, their unknowns, and the order of the unknowns."""

from __future__ import annotations

from fractions import Fraction

from lumos_queue.actions.algebra.formula import Variables, value_node
from lumos_queue.actions.algebra.kinds import failure
from lumos_queue.actions.algebra.nodes import RELATIONS, Node, names


def parts_of(nodes: list[Node]) -> list[Node]:
    """Return the nodes with every list replaced by its items."""
    return [part for node in nodes for part in (node[1:] if isinstance(node, tuple) and node[0] == "list" else (node,))]


def flat(nodes: list[Node]) -> Node:
    parts = parts_of(nodes)
    return parts[0] if len(parts) == 1 else ("list", *parts)


def system(nodes: list[Node]) -> tuple[list[Node], list[str], list[str]]:
    """Return the equations among SolveEquation's arguments, the unknowns to solve for, and the unknowns to return.

    Unknowns that are separate arguments (`x+y=3, x`) come first, and only these are returned. Otherwise the order is
    that of the left sides if each is an unknown (`y = 2x, x = 3`), else alphabetical. If there are more unknowns than
    equations, the equations are solved for the first unknowns. Raises ActionError.
    """
    parts = parts_of(nodes)
    target_names = [node[1] for node in parts if isinstance(node, tuple) and node[0] == "name"]
    parts = [node for node in parts if not (isinstance(node, tuple) and node[0] == "name")]
    if any(isinstance(node, tuple) and node[0] in RELATIONS - {"="} for node in parts):
        raise failure("syntax", "SolveEquation takes equations; use SolveInequality")
    equations = [node if isinstance(node, tuple) and node[0] == "=" else ("=", node, Fraction(0)) for node in parts]
    if not equations:
        raise failure("arity", "SolveEquation needs an equation, for example: SolveEquation(2x + 6 = 10)")
    left_names = [node[1][1] for node in equations if isinstance(node[1], tuple) and node[1][0] == "name"]
    unknowns = sorted({name for node in equations for name in names(node)})
    if not unknowns:
        raise failure("arity", "the equation has no unknown")
    if target_names:
        targets = list(dict.fromkeys(target_names))
        order = targets + [unknown for unknown in unknowns if unknown not in targets]
        return equations, order[: max(len(equations), len(targets))], targets
    order = left_names if len(left_names) == len(equations) and sorted(left_names) == unknowns else unknowns
    return equations, order[: len(equations)], order[: len(equations)]


def _newest_first(variables: Variables) -> list[str]:
    """Return the names of the variables, the newest first."""
    return sorted((name for name in variables if name[1:].isdigit()), key=lambda name: -int(name[1:]))


def latest(variables: Variables, kind: str) -> str:
    for name in _newest_first(variables):
        if variables[name].get("kind") == kind:
            return name
    raise failure("arity", f"there is no {kind} to solve")


def open_equations(variables: Variables) -> tuple[list[Node], bool]:
    """Return the last equation, and earlier equations as long as there are more unknowns than equations.

    Also return whether their texts contain decimals. Raises ActionError if there is no equation.
    """
    nodes: list[Node] = []
    decimal = False
    for name in _newest_first(variables):
        kind = variables[name].get("kind")
        node, has_decimals = value_node(variables[name]) if kind in ("equation", "list") else (None, False)
        if node is None or (kind == "list" and any(isinstance(p, Fraction) or p[0] != "=" for p in node[1:])):
            continue
        nodes[:0] = parts_of([node])
        decimal = decimal or has_decimals
        if len(nodes) >= len({unknown for part in nodes for unknown in names(part)}):
            break
    if not nodes:
        raise failure("arity", "there is no equation to solve")
    return nodes, decimal
