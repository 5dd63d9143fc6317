"""Expressions and programs at their limits, and what the parts of a tree are called."""

from __future__ import annotations

from fractions import Fraction

import pytest

from lumos_queue.rationales.maths.expressions import (
    Number,
    Operation,
    StepResult,
    chain,
    evaluate,
    format_expression,
    leaves,
    parse_infix,
    parse_prefix,
    replace_numbers,
)
from lumos_queue.rationales.maths.program import MAX_ACTIONS, MAX_BITS, ProgramBuilder
from lumos_queue.rationales.reasons import NotConvertible

ONE, TWO, THREE = Number(Fraction(1)), Number(Fraction(2)), Number(Fraction(3))


# --- expressions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1" + "0" * 5 + " " * 392 + "+1", 100001),
        ("(" * 40 + "1" + ")" * 40, 1),
        ("(1)" + "+(1)" * 50, 51),
        ("8 − 2 × 6 ÷ 3", 4),
        ("5.+.5", Fraction(11, 2)),
        ("12,345.5 * 2", 24691),
        ("-(2)+1", None),
        ("2 3", None),
        ("(2", None),
        ("2)", None),
        ("2+", None),
        ("()", None),
        ("1" * 401, None),
        ("-", None),
        ("2 + )", None),
    ],
)
def test_text_is_read_up_to_its_limits(text, value):
    tree = parse_infix(text)
    assert (evaluate(tree) if tree else tree) == value


def test_a_sign_takes_the_operands_that_follow_it():
    assert parse_prefix("- / 1 2 3") == Operation("-", Operation("/", ONE, TWO), THREE)
    assert parse_prefix("- 1 / 2 3") == Operation("-", ONE, Operation("/", TWO, THREE))
    assert parse_prefix("+ 1") is None and parse_prefix("1 2") is None and parse_prefix(")") is None


def test_the_values_of_earlier_results_are_counted_from_one():
    tree = Operation("/", Operation("-", StepResult(2), StepResult(1)), TWO)
    assert evaluate(tree, [Fraction(3), Fraction(8)]) == Fraction(5, 2)
    assert format_expression(tree) == "(R2 - R1) / 2"
    assert format_expression(tree, "the {}th".format) == "(the 2th - the 1th) / 2"
    with pytest.raises(ZeroDivisionError):
        evaluate(Operation("/", ONE, Number(Fraction(0))))


def test_literals_are_replaced_from_left_to_right_and_results_stay():
    tree = parse_infix("1 - (2 * 3)")
    assert list(leaves(tree)) == [ONE, TWO, THREE]
    seen = []

    def next_result(value: Fraction) -> StepResult:
        seen.append(value)
        return StepResult(len(seen))

    replaced = replace_numbers(Operation("+", StepResult(9), tree), next_result)
    assert replaced == Operation(
        "+", StepResult(9), Operation("-", StepResult(1), Operation("*", StepResult(2), StepResult(3)))
    )
    assert seen == [1, 2, 3]


@pytest.mark.parametrize(
    ("text", "operands"), [("1-2-3", 3), ("1+(2+3)", 2), ("1*2+3", 2), ("1+2-3", 2), ("1*2*3*1", 4)]
)
def test_a_run_is_of_one_operation_and_goes_to_the_left(text, operands):
    assert len(chain(parse_infix(text))) == operands
    assert chain(parse_infix("1-2-3")) == [ONE, TWO, THREE]


# --- programs ---------------------------------------------------------------------------------------------------------


def added(*subgoals: list[str]) -> ProgramBuilder:
    """A program of these formulas; `R1` is read as the number 91, and put back."""
    made = ProgramBuilder()
    for formulas in subgoals:
        made.add([(_linked(formula), None) for formula in formulas])
    return made


def _linked(formula: str):
    tree = parse_infix(formula.replace("R", "9"))
    return replace_numbers(tree, lambda value: StepResult(int(value) - 90) if 90 < value < 100 else Number(value))


def test_actions_are_numbered_through_and_state_what_the_calculator_shows():
    made = added(["1 + 2", "R1 * 0.5"], ["R2 / 3", "R3 - R1"])
    assert [action.raw for step in made.subgoals for action in step.actions] == [
        "R1 = Calculator(1 + 2)",
        "R2 = Calculator(R1 * 0.5)",
        "R3 = Calculator(R2 / 3)",
        "R4 = Calculator(R3 - R1)",
    ]
    assert [step.results for step in made.subgoals] == [("3", "1.5"), ("0.5", "-2.5")]
    assert [step.subgoal.number for step in made.subgoals] == [1, 2]
    assert all(step.subgoal.text.startswith(f"Subgoal {step.subgoal.number}: ") for step in made.subgoals)
    assert (made.values, made.lines) == (
        [3, Fraction(3, 2), Fraction(1, 2), Fraction(-5, 2)],
        ["3", "1.5", "0.5", "-2.5"],
    )


def test_the_words_name_results_as_the_planner_is_told_them():
    text = added(["1 + 2", "R1 * 4"], ["R2 + R1", "R3 - 1"]).subgoals
    assert "that result" in text[0].subgoal.text
    assert "the result of Subgoal 1" in text[1].subgoal.text and "result 1 of Subgoal 1" in text[1].subgoal.text
    three = added(["1 + 2", "5 * 4", "R1 - R2"]).subgoals[0].subgoal.text
    assert "result 1 of this subgoal" in three and "that result" in three


def test_a_tree_becomes_a_subgoal_for_each_run_inner_ones_first():
    made = ProgramBuilder()
    assert made.add_tree(THREE) == THREE and made.subgoals == []
    assert made.add_tree(parse_infix("1 + 2 + 3 * 2 + (2 - 1)")) == StepResult(3)
    assert [step.actions[0].arguments for step in made.subgoals] == ["3 * 2", "2 - 1", "1 + 2 + R1 + R2"]


def test_a_program_has_limits():
    made = added(*[["1 + 1"]] * MAX_ACTIONS)
    with pytest.raises(NotConvertible) as stopped:
        made.add([(parse_infix("1 + 1"), None)])
    assert stopped.value.reason == "too_large"
    most = Number(Fraction(2 ** (MAX_BITS - 1)))
    ProgramBuilder().add([(Operation("+", most, ONE), None)])
    for tree in (Operation("*", most, TWO), Operation("/", ONE, Number(Fraction(2**MAX_BITS)))):
        with pytest.raises(NotConvertible) as stopped:
            ProgramBuilder().add([(tree, None)])
        assert stopped.value.reason == "too_large"
    with pytest.raises(NotConvertible) as stopped:
        added(["1 / 0"])
    assert stopped.value.reason == "division_by_zero"


def test_an_answer_that_is_nearly_the_last_value_counts_as_rounded():
    made = added(["1000 + 1"])
    assert made.finish("1001 pens", Fraction(1001)).answer == "1001 pens"
    for gold, reason in (
        (Fraction(1000), "rounded"),
        (Fraction(1003), "value_differs"),
        (Fraction(0), "value_differs"),
    ):
        with pytest.raises(NotConvertible) as stopped:
            made.check(gold)
        assert stopped.value.reason == reason
    negative = added(["0 - 1001"])
    with pytest.raises(NotConvertible, match="rounded"):
        negative.finish("", Fraction(-1000))
