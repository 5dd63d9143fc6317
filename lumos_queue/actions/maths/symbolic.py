"""The child process of the maths actions: converts nodes to sympy and back. No other module imports sympy.

sympy's objects are built from nodes with the functions in the tables below; the only texts that sympy gets are the
names of symbols. Unknowns are real, so that complex roots are left out.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, TypeAlias

import sympy
from sympy import S

from lumos_queue.actions.algebra.kinds import failure
from lumos_queue.actions.algebra.nodes import Node, from_json, require_bits, to_json
from lumos_queue.errors import ActionError
from lumos_queue.util.sandbox import serve

Expression: TypeAlias = Any  #: a sympy.Expr, whose attributes sympy does not declare

_FUNCTIONS = {
    "sqrt": sympy.sqrt,
    "abs": sympy.Abs,
    "exp": sympy.exp,
    "ln": sympy.log,
    "log": sympy.log,
    "sin": sympy.sin,
    "cos": sympy.cos,
    "tan": sympy.tan,
    "floor": sympy.floor,
    "ceil": sympy.ceiling,
    "min": sympy.Min,
    "max": sympy.Max,
    "factorial": sympy.factorial,
}
_NAMES = {
    sympy.Abs: "abs",
    sympy.exp: "exp",
    sympy.log: "ln",
    sympy.sin: "sin",
    sympy.cos: "cos",
    sympy.tan: "tan",
    sympy.floor: "floor",
    sympy.ceiling: "ceil",
    sympy.Min: "min",
    sympy.Max: "max",
    sympy.factorial: "factorial",
}
_OPERATIONS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "^": lambda a, b: a**b,
    "=": lambda a, b: a - b,
}
_RELATIONS = {"=": sympy.Eq, "<": sympy.Lt, ">": sympy.Gt, "<=": sympy.Le, ">=": sympy.Ge}


def main() -> None:
    """Answer requests until the input ends."""
    serve(handle)


def handle(request: dict[str, Any]) -> dict[str, Any]:
    """Return the reply to a request (expand, solve or solve_inequality), or `error`, a key of KINDS, and `message`."""
    try:
        return _REQUESTS[request["do"]](request)
    except ActionError as error:
        return {"error": error.kind, "message": str(error)}
    except ZeroDivisionError:
        return {"error": "division_by_zero", "message": "division by zero"}
    except (MemoryError, RecursionError):
        raise
    except Exception as error:  # sympy has no specific error for what it cannot do
        return {"error": "unsolved", "message": f"sympy has no answer: {type(error).__name__}"}


def _expand(request: dict[str, Any]) -> dict[str, Any]:
    expression = sympy.expand(_build(from_json(request["node"])))
    if expression.is_rational_function() and not expression.is_polynomial():
        expression = sympy.cancel(expression)
    notation = _Notation()
    return {"node": notation.data(expression), "approximate": notation.approximate}


def _solve(request: dict[str, Any]) -> dict[str, Any]:
    equations = [_build(from_json(data)) for data in request["equations"]]
    unknowns = [_symbol(name) for name in request["unknowns"]]
    if len(unknowns) == 1 and len(equations) == 1:
        rows = [(root,) for root in _roots(equations[0], unknowns[0])]
    else:
        rows = _solve_system(equations, unknowns)
    notation = _Notation()
    solutions = [[notation.data(value) for value in row] for row in rows]
    return {"solutions": solutions, "approximate": notation.approximate}


def _roots(difference: Expression, unknown: sympy.Symbol) -> list[Expression]:
    """Return the real roots of the equation `difference = 0`, in rising order if they are numbers."""
    over, under = sympy.fraction(sympy.together(difference))
    over = sympy.expand(over)
    if over.is_zero:
        raise failure("no_solution", f"every {unknown} is a solution")
    if over.is_polynomial(unknown) and over.free_symbols == {unknown}:
        polynomial = sympy.Poly(over, unknown)
        if all(c.is_Rational for c in polynomial.all_coeffs()):
            roots: list[Expression] = list(dict.fromkeys(polynomial.real_roots()))
            return [root for root in roots if under.subs(unknown, root) != 0]
    return _sort([row[0] for row in _solve_system([difference], [unknown])])


def _solve_system(equations: list[Expression], unknowns: list[sympy.Symbol]) -> list[tuple[Expression, ...]]:
    """Return the real solutions, each as a row with a value for every unknown."""
    solutions = sympy.solve(equations, unknowns, dict=True)
    rows = [tuple(sympy.simplify(row.get(unknown, unknown)) for unknown in unknowns) for row in solutions]
    if any(unknown in value.free_symbols for row in rows for value in row for unknown in unknowns):
        raise failure("no_solution", "the equations leave an unknown open")
    rows = [row for row in rows if all(value.is_real is not False and not value.has(S.ImaginaryUnit) for value in row)]
    if all(value.is_number for row in rows for value in row):
        rows.sort(key=lambda row: [value.evalf(30) for value in row])
    return rows


def _sort(roots: list[Expression]) -> list[Expression]:
    return sorted(roots, key=lambda root: root.evalf(30)) if all(root.is_number for root in roots) else roots


def _solve_inequality(request: dict[str, Any]) -> dict[str, Any]:
    unknown = _symbol(request["unknown"])
    solutions: sympy.Set = S.Reals
    for data in request["relations"]:
        operator, left, right = from_json(data)
        relation = _RELATIONS[operator](_build(left), _build(right))
        if relation == S.true:
            continue
        if relation == S.false:
            return {"pieces": [], "approximate": False}
        if operator == "=":
            solution: sympy.Set = sympy.FiniteSet(*_roots(relation.lhs - relation.rhs, unknown))
        else:
            solution = sympy.solve_univariate_inequality(relation, unknown, relational=False)
        solutions = solutions.intersect(solution)
    notation = _Notation()
    pieces = [_piece(part, notation) for part in _intervals(solutions)]
    return {"pieces": pieces, "approximate": notation.approximate}


def _intervals(solutions: sympy.Set) -> list[tuple]:
    """Return the intervals of a set as (start, end, start open, end open), in rising order; a point is one, too."""
    parts = solutions.args if isinstance(solutions, sympy.Union) else (solutions,)
    intervals = []
    for part in parts:
        if part is S.EmptySet:
            continue
        if isinstance(part, sympy.FiniteSet):
            intervals += [(point, point, False, False) for point in part.args]
        elif isinstance(part, sympy.Interval):
            intervals.append((part.start, part.end, bool(part.left_open), bool(part.right_open)))
        else:
            raise failure("unsolved", "the solutions are no intervals")
    return sorted(intervals, key=lambda ends: (ends[0].evalf(30), ends[1].evalf(30)))


def _piece(ends: tuple, notation: _Notation) -> dict[str, Any]:
    low, high, low_open, high_open = ends
    return {
        "low": notation.data(low) if low.is_finite else None,
        "high": notation.data(high) if high.is_finite else None,
        "low_open": low_open,
        "high_open": high_open,
    }


_REQUESTS = {"expand": _expand, "solve": _solve, "solve_inequality": _solve_inequality}


def _symbol(name: str) -> sympy.Symbol:
    return sympy.Symbol(name, real=True)


def _build(node: Node) -> Expression:
    """Return the sympy object of a node; an equation becomes left minus right."""
    if isinstance(node, Fraction):
        return sympy.Rational(node.numerator, node.denominator)
    if node[0] == "name":
        return _symbol(node[1])
    if node[0] == "call":
        if node[1] == "pi":
            return S.Pi
        if node[1] not in _FUNCTIONS:
            raise failure("not_a_number", f"{node[1]} needs numbers")
        return _require_finite(_FUNCTIONS[node[1]](*map(_build, node[2:])))
    if node[0] not in _OPERATIONS:
        raise failure("not_a_number", "a list or an inequality stands where an expression is needed")
    return _require_finite(_OPERATIONS[node[0]](*map(_build, node[1:])))


def _require_finite(value: Expression) -> Expression:
    if value.has(S.ComplexInfinity, S.NaN, S.Infinity, S.NegativeInfinity):
        raise failure("division_by_zero", "the formula has no finite value")
    return value


class _Notation:
    """Converts sympy objects to nodes, and records in `approximate` whether a number had to be approximated."""

    def __init__(self):
        self.approximate = False

    def data(self, value: Expression) -> str | list[Any]:
        """Return the node of a sympy object as JSON."""
        return to_json(self.node(value))

    def node(self, value: Expression) -> Node:
        """Return the node of a sympy object; a real number without a formula becomes a decimal of 15 digits."""
        if value.is_Rational:
            return require_bits(Fraction(int(value.p), int(value.q)))
        if value.is_Symbol:
            return ("name", value.name)
        if value is S.Pi:
            return ("call", "pi")
        if value is S.Exp1:
            return ("call", "exp", Fraction(1))
        if value.is_Add:
            return self._chain("+", value.as_ordered_terms())
        if value.is_Mul or (value.is_Pow and value.exp.could_extract_minus_sign()):
            return self._product(value)
        if value.is_Pow and value.exp == S.Half:
            return ("call", "sqrt", self.node(value.base))
        if value.is_Pow:
            return ("^", self.node(value.base), self.node(value.exp))
        if type(value) in _NAMES:
            return ("call", _NAMES[type(value)], *map(self.node, value.args))
        if value.is_number and value.is_real:
            self.approximate = True
            return Fraction(str(value.evalf(15)))
        if value.has(S.ImaginaryUnit):
            raise failure("no_solution", "the value is not real")
        raise failure("unsolved", f"sympy's {type(value).__name__} has no notation here")

    def _product(self, value: Expression) -> Node:
        """Return the node of a product: the coefficient and the other factors, over the divisors."""
        coefficient, rest = value.as_coeff_Mul()
        over, under = sympy.fraction(rest)
        if under != 1:
            return ("/", self.node(coefficient.p * over), self.node(coefficient.q * under))
        factors = [factor for factor in over.as_ordered_factors() if factor != 1]
        return self._chain("*", ([] if coefficient == 1 else [coefficient]) + factors)

    def _chain(self, operator: str, parts: list[Expression]) -> Node:
        chain, *operands = map(self.node, parts)
        for operand in operands:
            chain = (operator, chain, operand)
        return chain
