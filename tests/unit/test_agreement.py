"""Two annotations agree if they have the same formulas and links, in any order of steps and wording."""

from __future__ import annotations

from fractions import Fraction

import pytest

from lumos_queue.conversion.agreement import identify_formulas
from lumos_queue.conversion.samples import _compute
from lumos_queue.notation import read_annotation
from lumos_queue.records import Action


def identify(*actions: str) -> tuple[str, ...]:
    lines = (f"Subgoal {k}: Step {k}.\nAction {k}-1: {action} = 1" for k, action in enumerate(actions, start=1))
    return identify_formulas(read_annotation("\n".join(lines))[0])


FIRST = ("R1 = Calculator(2 * 6)", "R2 = Calculator(3 * 4)", "R3 = Calculator(R1 - 5)", "R4 = Calculator(R3 + R2)")
EQUAL = {
    "the order of a sum and a product": (*FIRST[:1], "R2 = Calculator(4 * 3)", FIRST[2], "R4 = Calculator(R2 + R3)"),
    "other names": (
        "R2 = Calculator(2 * 6)",
        "R5 = Calculator(3 * 4)",
        "R6 = Calculator(R2 - 5)",
        "R7 = Calculator(R6 + R5)",
    ),
    "another order of independent steps": (
        "R1 = Calculator(3 * 4)",
        "R2 = Calculator(2 * 6)",
        "R3 = Calculator(R2 - 5)",
        "R4 = Calculator(R3 + R1)",
    ),
}
DIFFERENT = {
    "other links": (*FIRST[:2], "R3 = Calculator(R2 - 5)", "R4 = Calculator(R3 + R1)"),
    "a number in place of a link": (*FIRST[:2], "R3 = Calculator(12 - 5)", FIRST[3]),
    "the order of a difference": (*FIRST[:2], "R3 = Calculator(5 - R1)", FIRST[3]),
    "another answer": (*FIRST[:2], FIRST[2], FIRST[3], "R5 = Calculator(R1 - 5)"),
    "another action": (*FIRST[:1], "R2 = Define(3 * 4)", *FIRST[2:]),
    "steps that are joined": (*FIRST[:2], "R3 = Calculator(R1 - 5 + R2)"),
}


@pytest.mark.parametrize("name", EQUAL)
def test_equal_formulas_agree(name):
    assert identify(*EQUAL[name]) == identify(*FIRST)


@pytest.mark.parametrize("name", DIFFERENT)
def test_other_formulas_or_links_do_not_agree(name):
    assert identify(*DIFFERENT[name]) != identify(*FIRST)


def test_counts_and_equations_agree_by_their_text_and_links():
    first = ("R1 = Count([Tom, Ann])", "R2 = Calculator(30 / R1)")
    assert identify(*first) == identify("R3 = Count([tom,  ann])", "R4 = Calculator(30 / R3)")
    assert identify(*first) != identify("R1 = Count([Tom, Bob])", "R2 = Calculator(30 / R1)")
    assert identify() == ()


@pytest.mark.parametrize("formula", ["R0 + R0", "R01 + R01", "R2 + R0", "R7 + 1"])
def test_results_that_are_not_those_of_their_number_are_not_predicted(formula):
    values = {"R0": Fraction(2), "R01": Fraction(2), "R2": Fraction(3)}
    assert _compute(Action(("R3",), "Calculator", formula), values) is None


def test_arithmetic_with_results_is_predicted():
    execution = _compute(Action(("R3",), "Calculator", "R1 * R2"), {"R1": Fraction(2), "R2": Fraction(3)})
    assert execution is not None and execution.values[0]["text"] == "6"
