"""Add checks to a program, so that it can neither compare texts by size nor use a text as a truth value.

Variables may be answers of a model: `yes` and `no` are truth values, and a truth value equals its word.
"""

from __future__ import annotations

import ast
from collections.abc import Collection

from lumos_queue.errors import ActionError

_ORDER = (ast.Lt, ast.Gt, ast.LtE, ast.GtE)
_ORDERING = ("min", "max", "sorted")
_WORDS = {"yes": True, "no": False}
_FUNCTIONS = """
def _orderable(value):
    if isinstance(value, (str, bool)):
        raise TypeError(f"{str(value)[:60]!r} has no order: only numbers are compared by size")
    if isinstance(value, (list, tuple, set)):
        for one in value:
            _orderable(one)
    return value

def _truth(value):
    if isinstance(value, str):
        raise TypeError(f"{value[:60]!r} is neither yes nor no")
    return value

def _same(left, right):
    if isinstance(left, bool) and isinstance(right, str):
        left, right = right, left
    if isinstance(left, str) and isinstance(right, bool):
        word = left.strip().lower()
        return word == ("yes" if right else "no") or word == ("true" if right else "false")
    return left == right

def _alike(left, right):
    if isinstance(left, str) and isinstance(right, str):
        return " ".join(left.lower().split()).strip(" .") == " ".join(right.lower().split()).strip(" .")
    if {type(left), type(right)} in ({float}, {int, float}):
        return abs(left - right) <= 1e-12 * max(abs(left), abs(right))
    return _same(left, right)
"""


def add_checks(tree: ast.Module, variables: Collection[str], unsure: Collection[str], pseudo: bool) -> str:
    """Return the source of the check functions, and of the program that calls them.

    `unsure`: variables in per cent or `m`. Comparing such a variable with a bare number raises ActionError of kind
    not_a_number. If `pseudo`, texts that differ only in case, spaces or a full stop are equal, sums of floats equal
    their decimals, and the words yes and no are truth values.
    """
    tree = ast.fix_missing_locations(_Checks(variables, unsure, pseudo).visit(tree))
    return f"{_FUNCTIONS}\n{ast.unparse(tree)}"


class _Checks(ast.NodeTransformer):
    def __init__(self, variables: Collection[str], unsure: Collection[str], pseudo: bool):
        self.variables, self.unsure, self.pseudo = variables, unsure, pseudo

    def visit_Name(self, node: ast.Name) -> ast.AST:
        word = node.id.lower()
        if self.pseudo and word in _WORDS and node.id not in self.variables:
            return ast.Constant(_WORDS[word])
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        operands = [node.left, *node.comparators]
        names = [operand.id for operand in operands if isinstance(operand, ast.Name) and operand.id in self.unsure]
        if names and any(map(_is_bare_number, operands)):
            message = f"{names[0]} is per cent, or a number of 'm': what a bare number beside it means is not certain"
            raise ActionError("not_a_number", message)
        self.generic_visit(node)
        if any(isinstance(operator, _ORDER) for operator in node.ops):
            node.left = _call("_orderable", node.left)
            node.comparators = [_call("_orderable", operand) for operand in node.comparators]
        elif len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq | ast.NotEq):
            same = _call("_alike" if self.pseudo else "_same", node.left, node.comparators[0])
            return same if isinstance(node.ops[0], ast.Eq) else ast.UnaryOp(ast.Not(), same)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in _ORDERING and not node.keywords:
            node.args = [_order(argument) for argument in node.args]
        elif isinstance(node.func, ast.Attribute) and node.func.attr == "sort" and not node.keywords:
            node.func.value = _order(node.func.value)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        node.values = [self._test(operand) for operand in node.values]
        return self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        if isinstance(node.op, ast.Not):
            node.operand = self._test(node.operand)
        return self.generic_visit(node)

    def visit_If(self, node: ast.If | ast.IfExp | ast.While) -> ast.AST:
        node.test = self._test(node.test)
        return self.generic_visit(node)

    visit_IfExp = visit_While = visit_If

    def _test(self, node: ast.expr) -> ast.expr:
        return _call("_truth", node) if isinstance(node, ast.Name) and node.id in self.variables else node


def _is_bare_number(node: ast.expr) -> bool:
    node = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float) and bool(node.value)


def _order(node: ast.expr) -> ast.expr:
    if isinstance(node, ast.GeneratorExp):
        node = ast.ListComp(node.elt, node.generators)
    return node if isinstance(node, ast.Starred) else _call("_orderable", node)


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])
