"""LUMOS text ↔ records: the vectors of spec/lumos.md Annex A, and that every text can be read."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lumos_queue.notation import (
    Issue,
    format_result,
    name_output,
    read_action_line,
    read_actions,
    read_annotation,
    read_plan,
    read_subgoal,
    replace_variables,
    says_stop,
    strip_label,
    variables_in,
    write_action,
    write_actions,
    write_annotation,
    write_plan,
    write_subgoal,
)
from lumos_queue.records import Action, AnnotatedSubgoal, Subgoal
from tests.cpu_limit import cpu_limit

SUM = Action(("R1",), "Calculator", "2+3")


def only(reply: str) -> Action:
    (action,) = read_actions(reply)
    return action


# --- replies of the planner -------------------------------------------------------------------------------------------


def test_a_subgoal_loses_the_keep_planning_prefix_and_keeps_its_label():
    assert read_subgoal("No, I will keep planning. Subgoal 7: Add them. ", 2) == Subgoal(2, "Subgoal 7: Add them.")


@pytest.mark.parametrize("reply", ["", "  \n", "No, I will keep planning.", " No, I will keep planning. "])
def test_a_reply_without_text_is_no_subgoal(reply):
    assert read_subgoal(reply, 1) is None


def test_any_text_counts_as_a_subgoal():
    assert read_subgoal("hm", 3) == Subgoal(3, "hm")


def test_the_stop_phrase_may_stand_anywhere_and_needs_no_full_stop():
    assert says_stop("Yes, I will stop planning.")
    assert says_stop("So: Yes, I will stop planning")
    assert not says_stop("yes, I will stop planning.")


def test_a_plan_is_split_only_before_a_labelled_subgoal():
    plan = "Subgoal 1: Add a; then b.; Subgoal 2: Halve; Subgoal two: no label."
    assert read_plan(plan) == (
        Subgoal(1, "Subgoal 1: Add a; then b."),
        Subgoal(2, "Subgoal 2: Halve; Subgoal two: no label."),
    )


def test_a_plan_without_labels_is_one_subgoal_and_an_empty_plan_is_none():
    assert read_plan("Just add; them.") == (Subgoal(1, "Just add; them."),)
    assert read_plan(" ") == ()


def test_subgoals_of_a_plan_are_numbered_by_their_place():
    assert [subgoal.number for subgoal in read_plan("Subgoal 4: a; Subgoal 4: b")] == [1, 2]


def test_a_written_plan_and_a_written_subgoal_read_as_they_were():
    subgoals = (Subgoal(1, "Subgoal 1: Add; slowly."), Subgoal(2, "Subgoal 2: Halve."))
    assert read_plan(write_plan(subgoals)) == subgoals
    assert tuple(read_subgoal(write_subgoal(s), s.number) for s in subgoals) == subgoals
    assert write_subgoal(subgoals[1]) == "No, I will keep planning. Subgoal 2: Halve."


# --- replies of the grounder: A2 --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "variables", "name", "arguments"),
    [
        ("R2 = R9 = 40", ("R2",), "", "R9"),
        ("R2 = (R9)", ("R2",), "", "R9"),
        ("R2 = R9", ("R2",), "", "R9"),
        ("R2 = R9.", ("R2",), "", "R9"),
        ("R1 = 5", ("R1",), "", "5"),
        ("R1 = 1,250.5.", ("R1",), "", "1,250.5"),
        ("Output = (R2)", ("Output",), "", "R2"),
        ("R1 = KnowledgeQuery(Foo", ("R1",), "KnowledgeQuery", "Foo"),
        ("R1 = KnowledgeQuery(The Office (TV series))", ("R1",), "KnowledgeQuery", "The Office (TV series)"),
        ("R1 = Calculator(2+3) = 5", ("R1",), "Calculator", "2+3"),
        ("R1 = Calculator(2+3).", ("R1",), "Calculator", "2+3"),
        ("R1 = Calculator(2+3);", ("R1",), "Calculator", "2+3"),
        ("R1 = Calculator()", ("R1",), "Calculator", ""),
        ("R5, R6 = SolveEquation(R2=xy, R3=x/y)", ("R5", "R6"), "SolveEquation", "R2=xy, R3=x/y"),
        ("R1 = Click(< prev).", ("R1",), "Click", "< prev"),
        ("R4 = R3(n=5)", ("R4",), "", "R3(n=5)"),
        ("R3 = (R1) + (R2)", ("R3",), "", "(R1) + (R2)"),
        ("R3 = R1 + R2", ("R3",), "", "R1 + R2"),
        ("R2 = SELECT count(*) FROM t WHERE a = 3", ("R2",), "", "SELECT count(*) FROM t WHERE a = 3"),
    ],
)
def test_an_action_is_read(text, variables, name, arguments):
    action = only(text)
    assert (action.variables, action.name, action.arguments) == (variables, name, arguments)
    assert action.raw == text.removesuffix(";")


def test_actions_are_split_only_where_a_variable_is_set():
    reply = "R1 = KnowledgeQuery(Tom; Jerry); R2, R3 = SolveEquation(x; y = 2); Output = (R3)"
    assert [write_action(action) for action in read_actions(reply)] == [
        "R1 = KnowledgeQuery(Tom; Jerry)",
        "R2, R3 = SolveEquation(x; y = 2)",
        "Output = (R3)",
    ]


def test_an_action_cut_off_in_the_middle_does_not_swallow_the_next():
    assert [a.arguments for a in read_actions("R1 = KnowledgeQuery(Foo; R2 = Calculator(1)")] == ["Foo", "1"]


@pytest.mark.parametrize(
    "text", ["I cannot do that.", "R1 =", "Calculator(2)", "r1 = Calculator(2)", f"R{'9' * 5000} = 1"]
)
def test_what_is_no_action_stays_visible_as_unreadable(text):
    assert read_actions(text) == (Action((), "", text, text),)
    assert write_action(only(text)) == text


def test_an_empty_reply_holds_no_action():
    assert read_actions("") == read_actions(" \n") == read_actions(" ; ") == ()


def test_written_actions_join_with_a_semicolon():
    assert write_actions([SUM, Action(("Output",), "", "R1")]) == "R1 = Calculator(2+3); Output = (R1)"


@given(st.text() | st.text(alphabet="R12Output,;= ().Subgoal:\n-Action"))
@settings(max_examples=150, deadline=None)
def test_every_text_can_be_read(text):
    for action in read_actions(text):
        assert action.raw.strip()
        assert action.variables or action.arguments == action.raw
    for number, subgoal in enumerate(read_plan(text), start=1):
        assert subgoal.number == number and subgoal.text in text
    assert (read_subgoal(text, 1) is None) == (not text.strip().removeprefix("No, I will keep planning.").strip())
    steps, issues = read_annotation(text)
    assert steps or issues
    assert isinstance(read_action_line(text), (tuple, Issue))
    assert replace_variables(text, lambda name: name) == text
    assert isinstance(says_stop(text), bool)


names = st.sampled_from(["Calculator", "QA", "KnowledgeQuery", ""])
variables = st.lists(st.integers(1, 99).map("R{}".format) | st.just("Output"), min_size=1, max_size=3).map(tuple)
plain = st.text(alphabet="ab R12+=,.;:'[]é", max_size=20)
balanced = st.recursive(plain, lambda inner: st.builds("{}({}){}".format, plain, inner, plain), max_leaves=4)
#: Arguments as the grammar has them: balanced, and no `; R1 = ` inside.
arguments = balanced.filter(lambda text: "; " not in text)
actions = st.builds(Action, variables, names, arguments).filter(lambda action: action.name or action.arguments.strip())


@given(st.lists(actions, max_size=4))
@settings(max_examples=100, deadline=None)
def test_written_actions_read_as_they_were(some):
    again = [Action(a.variables, a.name, a.arguments) for a in read_actions(write_actions(some))]
    assert again == some


@pytest.mark.parametrize(
    "text", ["R1, " * 20_000, "; R1" * 20_000, "R1 = " + "(" * 50_000, "R1 = " + "1," * 50_000 + "x"]
)
def test_reading_takes_linear_time(text):
    with cpu_limit(10):
        read_actions(text)
        read_annotation("Subgoal 1: a\nAction 1-1: " + text)


# --- variables: A3 ----------------------------------------------------------------------------------------------------


def test_R1_never_corrupts_R10():
    values = {"R1": "(4)", "R10": "(7)"}
    assert replace_variables("R10 + R1", values.__getitem__) == "(7) + (4)"
    assert replace_variables("R1 + R10", values.__getitem__) == "(4) + (7)"


def test_variables_are_found_whole_and_once():
    assert variables_in("2R3 + R10*R3(n=5) - R2D2 - HR4") == ("R3", "R10")


def test_a_value_that_looks_like_a_variable_is_not_replaced_again():
    assert replace_variables("R1 R2", {"R1": "R2", "R2": "x"}.__getitem__) == "R2 x"


# --- annotations: A1, the desired column ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "variables", "name", "arguments", "result", "shown"),
    [
        ("Action 1-1: R1 = Calculator(2 - 0.5) = 1.5 ", ("R1",), "Calculator", "2 - 0.5", "1.5", "1.5"),
        (
            "Action 3-1: R5, R6 = SolveEquation(R2=xy, R3=x/y) = -9/8, -3/5 ",
            *(("R5", "R6"), "SolveEquation", "R2=xy, R3=x/y", "-9/8, -3/5", "-9/8, -3/5"),
        ),
        ("Action 4-1: Output = R9 = 40", ("Output",), "", "R9", "40", "40"),
        ("Action 1-1: R1 = Calculator(2 + 3)", ("R1",), "Calculator", "2 + 3", "", ""),
        ("Action 1-1: R1 = Calculator(2 + 3)=5", ("R1",), "Calculator", "2 + 3", "5", "5"),
        ("Action 1-1: R1 = 5", ("R1",), "", "5", "5", "5"),
        ("Action 2-1: R4 = SetEquation(R2 = R3) = a = b", ("R4",), "SetEquation", "R2 = R3", "a = b", "a = b"),
        (
            "Action 1-3: R3 = QA([R2], Question: q?) = 330 metres. ",
            *(("R3",), "QA", "[R2], Question: q?", "330 metres.", "330 metres"),
        ),
        ("Action 1-1: R1 = CLICK(Env, QUERY: Click it). ", ("R1",), "CLICK", "Env, QUERY: Click it", "", ""),
        ("Action 1-1: R1 = Calculator(1/2) = .5", ("R1",), "Calculator", "1/2", ".5", ".5"),
    ],
)
def test_an_action_line_is_read(line, variables, name, arguments, result, shown):
    action, its_result = read_action_line(line)
    assert (action.variables, action.name, action.arguments) == (variables, name, arguments)
    assert (its_result, format_result(its_result)) == (result, shown)


def test_an_alias_line_is_serialised_with_parentheses():
    action, _ = read_action_line("Action 4-1: Output = R9 = 40")
    assert write_action(action) == "Output = (R9)"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("Action 1-1: R1 = Calculator(2 + (3) = 5", "mismatched parenthesis"),
        ("Action 1-1: R1 = Calculator(2 + 3)) = 5", "mismatched parenthesis"),
        ("Action 1-1: R1 = R9)", "mismatched parenthesis"),
        ("Action 1-1: R1 = Calculator(2) apples", "text after the call"),
        ("Action 1-1: Calculator(2) = 2", "no assignment"),
        ("R1 = Calculator(2) = 2", "no action label"),
    ],
)
def test_a_bad_action_line_is_refused_for_a_named_reason(line, reason):
    assert read_action_line(line) == Issue(reason, line)


ANNOTATION = """\
Subgoal-based plan:
Subgoal 1: Multiply.
Action 1-1: R1 = Calculator(12 * 3) = 36

Subgoal 2: Subtract.
Action 2-1: R2 = Calculator(R1 - 5) = 31
Action 2-2: Output = R2 = 31
"""


def test_an_annotation_is_read_line_by_line():
    steps, issues = read_annotation(ANNOTATION)
    assert issues == ()
    assert [step.subgoal for step in steps] == [Subgoal(1, "Subgoal 1: Multiply."), Subgoal(2, "Subgoal 2: Subtract.")]
    assert [write_actions(step.actions) for step in steps] == [
        "R1 = Calculator(12 * 3)",
        "R2 = Calculator(R1 - 5); Output = (R2)",
    ]
    assert [step.results for step in steps] == [("36",), ("31", "31")]


def test_subgoals_need_no_blank_line_between_them_and_may_have_more_than_one():
    dense = read_annotation(ANNOTATION.replace("\n\n", "\n"))
    assert dense == read_annotation(ANNOTATION.replace("\n\n", "\r\n\r\n\n")) == read_annotation(ANNOTATION)


def test_a_written_annotation_reads_as_it_was():
    steps, _ = read_annotation(ANNOTATION)
    assert write_annotation(steps) == ANNOTATION.partition("\n")[2].strip()
    assert read_annotation(write_annotation(steps)) == (steps, ())


def test_writing_an_annotation_keeps_each_text_on_its_line_and_labels_subgoals():
    step = AnnotatedSubgoal(Subgoal(1, "Add\nthem."), (SUM,), ("a\nb",))
    assert write_annotation([step]) == "Subgoal 1: Add them.\nAction 1-1: R1 = Calculator(2+3) = a b"


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        ("nothing here", ["no subgoals"]),
        ("Subgoal 1: a", ["subgoal without actions"]),
        ("Subgoal 2: a\nAction 1-1: R1 = (5) = 5", ["subgoal out of order"]),
        ("Subgoal 1: a\nAction 1-2: R1 = (5) = 5", ["action out of order"]),
        ("Subgoal 1: a\nAction 1-1: R1 = Calculator(5)", ["missing result"]),
        ("Subgoal 1: a\nAction 1-1: R1 = (5) = 5\nThat is all.", ["unlabelled line"]),
        ("Action 1-1: R1 = (5) = 5\nSubgoal 1: a", ["action before any subgoal", "subgoal without actions"]),
        ("Subgoal 1: a\nAction 1-1: R1 = F(5)) = 5", ["mismatched parenthesis", "subgoal without actions"]),
    ],
)
def test_everything_wrong_with_an_annotation_is_named(text, reasons):
    _, issues = read_annotation(text)
    assert [issue.reason for issue in issues] == reasons


def test_web_actions_have_no_results():
    text = "Subgoal 1: Go.\nAction 1-1: R1 = CLICK(Env, QUERY: Go). "
    assert read_annotation(text, results=False)[1] == ()
    assert [issue.reason for issue in read_annotation(text)[1]] == ["missing result"]


def test_output_takes_the_variable_after_the_previous_subgoal():
    steps, _ = read_annotation(ANNOTATION)
    assert write_actions(name_output(steps)[1].actions) == "R2 = Calculator(R1 - 5); R2 = (R2)"
    own, _ = read_annotation("Subgoal 1: a\nAction 1-1: R1 = (5) = 5\nSubgoal 2: b\nAction 2-1: Output = R1 = 5")
    assert write_actions(name_output(own)[1].actions) == "R2 = (R1)"


def test_a_label_is_taken_off_only_where_there_is_one():
    assert strip_label("Subgoal 12: Click it.") == "Click it."
    assert strip_label("Click Subgoal 1: it.") == "Click Subgoal 1: it."
