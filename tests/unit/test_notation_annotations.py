"""Annotations to the letter: what each complaint points at, how a step is written, which variable Output becomes."""

from __future__ import annotations

import pytest

from lumos_queue.notation import (
    Issue,
    format_result,
    name_output,
    read_action_line,
    read_actions,
    read_annotation,
    write_action,
    write_actions,
    write_annotation,
)
from lumos_queue.records import Action, AnnotatedSubgoal, Subgoal

FIVE = Action(("R1",), "", "5")


def written(*actions: Action, results: tuple[str, ...]) -> list[str]:
    """The lines of the actions of one written subgoal."""
    return write_annotation([AnnotatedSubgoal(Subgoal(1, "Subgoal 1: a"), actions, results)]).splitlines()[1:]


@pytest.mark.parametrize(
    ("text", "issues"),
    [
        ("x" * 100, [("no subgoals", "x" * 80)]),
        ("Subgoal 1: a", [("subgoal without actions", "Subgoal 1: a")]),
        ("Subgoal 2: a\nAction 1-1: R1 = (5) = 5", [("subgoal out of order", "Subgoal 2: a")]),
        ("Subgoal 1: a\nAction 1-2: R1 = (5) = 5", [("action out of order", "Action 1-2: R1 = (5) = 5")]),
        ("Subgoal 1: a\nAction 1-1: R1 = F(5)", [("missing result", "Action 1-1: R1 = F(5)")]),
        ("Subgoal 1: a\nAction 1-1: R1 = (5) = 5\nThat is all.", [("unlabelled line", "That is all.")]),
        (
            "Action 1-1: R1 = (5) = 5\nSubgoal 1: a\nAction 1-1: R1 = (5) = 5",
            [("action before any subgoal", "Action 1-1: R1 = (5) = 5")],
        ),
    ],
)
def test_a_complaint_shows_the_line_that_it_is_about(text, issues):
    assert read_annotation(text)[1] == tuple(Issue(*issue) for issue in issues)


def test_a_line_that_cannot_be_read_does_not_hide_those_after_it():
    steps, issues = read_annotation("Subgoal 1: a\nAction 1-1: R1 = F(5)) = 5\nAction 1-1: R1 = (5) = 5")
    assert [write_actions(step.actions) for step in steps] == ["R1 = (5)"]
    assert [issue.reason for issue in issues] == ["mismatched parenthesis"]


def test_an_action_keeps_what_stood_after_its_label():
    action, _ = read_action_line("Action 1-1: R1 = Calculator(2 + 3) = 5 ")
    assert action == Action(("R1",), "Calculator", "2 + 3", "R1 = Calculator(2 + 3) = 5")


def test_parentheses_around_each_operand_are_matched():
    action, result = read_action_line("Action 1-1: R3 = (R1) + (R2)")
    assert (action.arguments, result) == ("(R1) + (R2)", "")


def test_a_query_is_written_after_all_of_its_variables():
    assert write_action(Action(("R1", "R2"), "", "SELECT 1"), calls=False) == "R1, R2 = SELECT 1"


def test_each_kind_of_action_is_written_in_its_own_way():
    assert written(FIVE, results=("5",)) == ["Action 1-1: R1 = 5 = 5"]
    assert written(Action(("R1", "R2"), "", "R3"), results=("5",)) == ["Action 1-1: R1, R2 = R3 = 5"]
    assert written(Action(("R1",), "Calculator", "5"), results=("5",)) == ["Action 1-1: R1 = Calculator(5) = 5"]
    assert written(Action(("R3",), "", "R1 + R2"), results=("5",)) == ["Action 1-1: R3 = (R1 + R2) = 5"]


def test_an_action_without_a_result_is_written_without_an_equals_sign():
    assert written(Action(("R1",), "CLICK", "Env"), results=("",)) == ["Action 1-1: R1 = CLICK(Env)"]


def test_a_step_needs_a_result_for_each_action():
    with pytest.raises(ValueError):
        written(FIVE, FIVE, results=("5",))


def steps_of(*of_each: tuple[Action, ...]) -> list[AnnotatedSubgoal]:
    return [AnnotatedSubgoal(Subgoal(number, "x"), actions, ()) for number, actions in enumerate(of_each, start=1)]


def named(*of_each: tuple[Action, ...]) -> list[list[tuple[str, ...]]]:
    return [[action.variables for action in step.actions] for step in name_output(steps_of(*of_each))]


def test_only_output_is_named_anew():
    output = Action(("Output",), "", "R7")
    assert named((output,)) == [[("R1",)]]
    assert named((FIVE,), (Action(("R7",), "", "5"), output)) == [[("R1",)], [("R7",), ("R2",)]]


def test_a_subgoal_whose_end_sets_no_variable_leaves_the_count_as_it_was():
    output, unreadable = Action(("Output",), "", "R1"), Action((), "", "hm")
    assert named((FIVE,), (), (output,)) == [[("R1",)], [], [("R2",)]]
    assert named((FIVE,), (unreadable,), (output,)) == [[("R1",)], [()], [("R2",)]]


def test_only_the_signs_that_end_a_text_are_taken_off():
    (action,) = read_actions(" R1 = two times X;;")
    assert action.arguments == "two times X"
    assert format_result(" Malcolm X.. ") == "Malcolm X"
