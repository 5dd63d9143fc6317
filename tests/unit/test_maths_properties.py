"""Properties of the in-process arithmetic."""

from __future__ import annotations

import asyncio
import json
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lumos_queue.actions.algebra.formula import read
from lumos_queue.actions.algebra.kinds import KINDS
from lumos_queue.actions.algebra.nodes import combine, from_json, substitute, to_json
from lumos_queue.actions.algebra.show import show
from lumos_queue.actions.maths.interface import MathsActions
from lumos_queue.errors import ActionError
from lumos_queue.records import Action
from lumos_queue.scoring.numbers import parse_number
from tests.cpu_limit import cpu_limit


class NoChild:
    """A sandbox that starts nothing: symbolic work has no answer."""

    async def call(self, request, seconds):
        json.dumps(request)
        return {"error": "unsolved", "message": "no child here"}

    async def close(self):
        pass


MATHS = MathsActions(sandbox=NoChild())


def run(name, arguments, variables=None, to=("R1",)):
    return asyncio.run(MATHS.execute(Action(to, name, arguments), variables or {}))


@st.composite
def _operations(draw, children):
    operator = draw(st.sampled_from("+-*/^"))
    left = draw(children)
    right = draw(st.integers(-3, 3).map(Fraction)) if operator == "^" else draw(children)
    return operator, left, right


LEAVES = st.one_of(
    st.integers(0, 10**6).map(Fraction),
    st.integers(0, 10**6).map(lambda n: Fraction(n, 1000)),
)
TREES = st.recursive(LEAVES, _operations, max_leaves=12)


def value_of(tree):
    """Python's own answer; None for a division by zero."""
    if isinstance(tree, Fraction):
        return tree
    operator, left, right = tree[0], value_of(tree[1]), value_of(tree[2])
    if left is None or right is None or (operator == "/" and right == 0):
        return None
    if operator == "^":
        return None if left == 0 and right < 0 else left**right.numerator
    return {"+": left + right, "-": left - right, "*": left * right}.get(operator) if operator != "/" else left / right


def text_of(tree, leaf):
    """The tree in full brackets; `leaf` writes its numbers."""
    if isinstance(tree, Fraction):
        return leaf(tree)
    return f"({text_of(tree[1], leaf)} {tree[0]} {text_of(tree[2], leaf)})"


def decimal_text(value):
    text = f"{value.numerator * 1000 // value.denominator:+05d}"
    return f"({text[:-3]}.{text[-3:]})"


@settings(deadline=None)
@given(TREES)
def test_arithmetic_equals_pythons_fractions(tree):
    expected = value_of(tree)
    execution = run("Calculator", text_of(tree, decimal_text))
    if expected is None:
        assert execution.status == "division_by_zero"
    elif execution.ok:
        assert parse_number(execution.result) == expected
    else:
        assert execution.status == "too_large"
        assert max(expected.numerator.bit_length(), expected.denominator.bit_length()) > 300


@settings(deadline=None)
@given(TREES)
def test_variables_give_what_their_values_give(tree):
    variables, names = {}, {}

    def variable(value):
        if value not in names:
            names[value] = f"R{len(names) + 1}"
            variables[names[value]] = {"kind": "number", "text": str(value)}
        return names[value]

    by_name = run("Calculator", text_of(tree, variable), variables)
    directly = run("Calculator", text_of(tree, lambda value: f"({value})"))
    assert (by_name.status, by_name.values) == (directly.status, directly.values)


SYMBOLS = st.sampled_from(["x", "y", "z", "e", "c", "m", "price", "x1", "R"]).map(lambda name: ("name", name))
SYMBOLIC = st.recursive(st.one_of(LEAVES, SYMBOLS, LEAVES.map(lambda n: -n)), _operations, max_leaves=10)
POINT = {"x": 2, "y": Fraction(3, 7), "z": -5, "e": 11, "c": 13, "m": Fraction(-1, 3), "price": 17, "x1": 19, "R": 23}


def worked_out(tree):
    """The tree as a node."""
    if isinstance(tree, Fraction) or tree[0] == "name":
        return tree
    return combine(tree[0], worked_out(tree[1]), worked_out(tree[2]))


@settings(max_examples=150, deadline=None)
@example(("+", ("*", Fraction(2), ("name", "e")), Fraction(1)), False)
@given(SYMBOLIC, st.booleans())
def test_what_is_shown_reads_back_with_the_same_value(tree, decimal):
    point = {name: Fraction(value) for name, value in POINT.items()}
    try:
        node = worked_out(tree)
        expected = substitute(node, point)
    except ActionError:
        return
    assert from_json(json.loads(json.dumps(to_json(node)))) == node
    text = show(node, decimal)
    (again,), _ = read(text, {})
    assert substitute(again, point) == expected, text


FORMULAS = st.text(alphabet="0123456789.,%^*/+-=<>()!xyRnd$ ½−e'\\_[]{}:;…", max_size=60)
WORDS = st.lists(
    st.sampled_from(
        [
            "R1",
            "R2",
            "R3",
            "R4",
            "R9",
            "Output",
            "(",
            ")",
            ",",
            "=",
            ">",
            "+",
            "-",
            "*",
            "/",
            "^",
            "**",
            "%",
            "0",
            "1",
            "2.5",
            "x",
            "y",
            "where",
            "n=5",
            "sqrt(",
            "max(",
            "apples",
            "...",
            "R3(",
            "of",
            "//",
            "!",
        ]
    ),
    max_size=14,
).map(" ".join)
VARIABLES = {
    "R1": {"kind": "number", "text": "4"},
    "R2": {"kind": "equation", "text": "x+y = 3"},
    "R3": {"kind": "expression", "text": "n-2"},
    "R4": {"kind": "solution", "text": "-2, 2", "items": ["-2", "2"], "symbols": ["x"]},
    "R5": {"text": "²"},
}
NAMES = ["Calculator", "SetEquation", "SolveEquation", "SolveInequality", "Count", "Define", "", "Code"]


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(NAMES), st.one_of(FORMULAS, WORDS, st.text()), st.integers(1, 3))
@example("Calculator", "R3(", 1)
@example("Calculator", "R3(n=", 1)
@example("Calculator", "R5 + 1", 1)
def test_no_text_makes_an_action_raise(name, arguments, variables):
    execution = run(name, arguments, VARIABLES, to=tuple(f"R{i + 10}" for i in range(variables)))
    assert execution.status == "ok" or execution.status in KINDS
    assert len(execution.values) == (variables if execution.ok else 0)
    json.dumps(execution.values)


@pytest.mark.parametrize("piece", ["x+", "x*", "(x", "-", "x^", "2^", "sqrt(", "R3(", "x=", "1,", "x,", "R6+"])
@pytest.mark.parametrize("count", [10, 290, 3000])
def test_long_and_deep_formulas_are_answered(piece, count):
    variables = {**VARIABLES, "R6": {"kind": "expression", "text": "+".join(["x"] * 250)}}
    execution = run("Calculator", piece * count + "x", variables)
    assert execution.status in KINDS or (piece == "-" and count < 3000)


def test_values_that_double_with_every_step_are_refused_before_they_are_walked():
    variables = {"R1": {"kind": "expression", "text": "x+x*x"}}
    formula = "R1(x=" * 50 + "y" + ")" * 50
    with cpu_limit(5):
        assert run("Define", formula, variables).status == "too_large"
