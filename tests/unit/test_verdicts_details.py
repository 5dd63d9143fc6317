"""What a verdict says beside its name: which row it spoils, whether it rejects, and what it points at."""

from __future__ import annotations

import asyncio

import pytest

from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.conversion.form import form_verdicts, issue_verdicts
from lumos_queue.conversion.lengths import conversation_tokens, estimate_tokens
from lumos_queue.conversion.oracle import StatedResults, with_stated_results
from lumos_queue.conversion.verdicts import (
    NOTED,
    VERDICTS,
    list_accepting_modules,
    make_verdicts,
    merge_verdicts,
    reason_verdicts,
    rejections,
)
from lumos_queue.notation import Issue, read_annotation
from lumos_queue.rationales.comparison import matches_stated
from lumos_queue.rationales.maths.doubtful_links import ambiguous_operands
from lumos_queue.rationales.maths.stated_results import results_stated
from lumos_queue.records import Action, AnnotatedSubgoal, Execution, Subgoal, Task, Verdict
from tests.strictly_stated import states_strictly


def steps(text: str, results: bool = True):
    found, issues = read_annotation(text, results)
    assert not issues
    return found


# --- verdicts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", VERDICTS)
def test_a_verdict_is_on_the_modules_of_the_table_and_rejects_unless_it_is_noted(name):
    assert make_verdicts(name, "why") == [
        Verdict(module, name, "why", name not in NOTED) for module in VERDICTS[name][0]
    ]
    assert make_verdicts(name)[0].detail == ""
    assert make_verdicts(name, "why", ("planner",)) == [Verdict("planner", name, "why", name not in NOTED)]


def test_a_reason_of_a_rule_spoils_both_rows():
    assert reason_verdicts("no_rule", "why") == [
        Verdict("planner", "no_rule", "why"),
        Verdict("grounder", "no_rule", "why"),
    ]
    assert list_accepting_modules(reason_verdicts("no_rule", "why")) == ()


def test_verdicts_that_are_put_together_keep_what_each_said():
    told = [Verdict("grounder", "unknown action", one) for one in ("b", "", "a", "b")]
    other = [Verdict("grounder", "unknown action", "c", False), Verdict("planner", "unknown action", "d")]
    assert merge_verdicts([*told, *other]) == [
        Verdict("grounder", "unknown action", "b; a"),
        Verdict("grounder", "unknown action", "c", False),
        Verdict("planner", "unknown action", "d"),
    ]
    (long,) = merge_verdicts([Verdict("planner", "overlong", "x" * 200), Verdict("planner", "overlong", "y" * 200)])
    assert long.detail == "x" * 200 + "; " + "y" * 98


def test_a_row_is_accepted_for_the_modules_that_nothing_rejects():
    noted = make_verdicts("ambiguous link")
    assert list_accepting_modules([*noted, *make_verdicts("result stated")]) == ("grounder",)
    assert list_accepting_modules([*noted, *make_verdicts("unknown action")]) == ("planner",)
    assert rejections([*noted, *make_verdicts("unknown action")]) == make_verdicts("unknown action")


# --- form -------------------------------------------------------------------------------------------------------------


def said(verdicts) -> list[tuple[str, str, str]]:
    return [(one.module, one.name, one.detail) for one in verdicts]


def test_an_issue_of_the_text_points_at_its_line():
    long = "x" * 100
    found = said(issue_verdicts([Issue("missing result", long), Issue("unlabelled line", long)]))
    assert found == [
        (module, *told)
        for told in (("empty result", f"missing result: {'x' * 80}"), ("unreadable", f"unlabelled line: {'x' * 80}"))
        for module in ("planner", "grounder")
    ]
    assert said(issue_verdicts([Issue("mismatched parenthesis", long)])) == [
        ("grounder", "mismatched parenthesis", long)
    ]


@pytest.mark.parametrize("reason", ["mismatched parenthesis", "no assignment", "text after the call"])
def test_a_subgoal_whose_action_could_not_be_read_has_one(reason):
    empty = Issue("subgoal without actions", "Subgoal 1: a")
    assert all("subgoal" not in detail for _, _, detail in said(issue_verdicts([Issue(reason, "x"), empty])))
    assert said(issue_verdicts([empty]))[0] == ("planner", "unreadable", "subgoal without actions: Subgoal 1: a")


class Facts(Benchmark):
    name, domain = "facts", "complex_qa"

    def facts(self, task: Task) -> str:
        return task.gold.get("facts", "")


def formed(text: str, facts: str = "", most: int = 10_000, unread=(), results: bool = True):
    task = Task("facts", "d", "1", "Who is Ann Lee?", gold={"answer": "a cook", "facts": facts})
    return said(form_verdicts(Facts(), task, steps(text, results), most, estimate_tokens, unread))


def line(number: int, action: str) -> str:
    return f"Action 1-{number}: {action}\n"


def test_an_action_that_cannot_run_is_named_with_its_call():
    text = "Subgoal 1: a\n" + line(1, "R1 = QA([R2, R3], Question: Who?) = Ann") + line(2, "R3 = Fetch([R1]) = x")
    assert formed(text, unread=("R2",)) == [
        ("grounder", "undefined reference", "R3 in R1 = QA([R2, R3], Question: Who?)"),
        ("grounder", "unknown action", "Fetch"),
    ]


def test_a_domain_without_a_list_takes_any_action():
    class Queries(Facts):
        domain = "intercode_sql"

    text = "Subgoal 1: a\n" + line(1, "R1 = Anything(x) = 1")
    task = Task("facts", "d", "1", "Who?", gold={"answer": "1"})
    assert said(form_verdicts(Queries(), task, steps(text), 10_000, estimate_tokens)) == []


@pytest.mark.parametrize("result", ["None", "nan.", "Error: no such page", "Traceback (most recent call last)"])
def test_an_error_in_place_of_a_result_is_shown(result):
    text = "Subgoal 1: a\n" + line(1, f"R1 = KnowledgeQuery(Ann) = {result}")
    assert formed(text)[0] == ("planner", "invalid result", f"R1 = KnowledgeQuery(Ann) = {result}")


def test_a_long_result_is_shown_by_its_beginning():
    text = "Subgoal 1: a\n" + line(1, f"R1 = QA({'q' * 90}) = {'x' * 90}")
    assert formed(text, "other facts")[0][2] == f"R1 = QA({'q' * 80}) = {'x' * 80}"


@pytest.mark.parametrize(
    ("result", "stands"),
    [
        ("Ann Lee", True),
        ("a COOK.", True),
        ("yes", True),
        ("born in 1950", True),
        ("Paragraph(1)", True),
        ("1950, Ann Lee and Oslo", True),
        ("1950, and Bergen", False),
        ("a baker", False),
    ],
)
def test_an_extracted_result_stands_in_facts_question_or_answer_whole_or_in_parts(result, stands):
    text = "Subgoal 1: a\n" + line(1, f"R1 = QA(Question: Who?) = {result}")
    names = [name for _, name, _ in formed(text, "She was born in\n1950 in Oslo.")]
    assert names == ([] if stands else ["result not in facts"] * 2)


def test_a_subgoal_and_a_module_that_are_at_fault_are_named_with_their_numbers():
    text = "Subgoal 1: Find the tower, which is Babel.\n" + line(1, "R1 = QA(Question: Which?) = Babel")
    assert formed(text) == [("planner", "result stated", "Subgoal 1 says Babel")]
    lengths = conversation_tokens("Who is Ann Lee?", "complex_qa", steps(text), estimate_tokens)
    assert lengths["planner"] < lengths["grounder"]
    assert formed(text, most=lengths["grounder"] - 1)[1:] == [
        ("grounder", "overlong", f"{lengths['grounder']} tokens, at most {lengths['grounder'] - 1}")
    ]
    assert len(formed(text, most=lengths["grounder"])) == 1


# --- what the checks compare ------------------------------------------------------------------------------------------


def test_lengths_add_up_over_turns_and_earlier_results():
    one = steps("Subgoal 1: A.\nAction 1-1: R1 = QA(b) = c d")
    two = steps("Subgoal 1: A.\nAction 1-1: R1 = QA(b) = c d\nSubgoal 2: A.\nAction 2-1: R2 = QA(b) = c d")
    short, long = (conversation_tokens("Q", "complex_qa", some, estimate_tokens) for some in (one, two))
    subgoal, action, result, turn = estimate_tokens("Subgoal 1: A."), estimate_tokens("R1 = QA(b)"), 2, 14
    assert long["planner"] - short["planner"] == subgoal + result + 2 * turn
    # The first result is told in both later turns of the grounder's conversation, the second in one.
    assert long["grounder"] - short["grounder"] == subgoal + turn + action + 2 * result
    in_maths = [conversation_tokens("Q", "maths", some, estimate_tokens)["grounder"] for some in (one, two)]
    assert in_maths[1] - in_maths[0] == subgoal + turn + action
    assert conversation_tokens("Q", "no such domain", one, estimate_tokens)["grounder"] == 1 + subgoal + turn + action
    no_result = [AnnotatedSubgoal(Subgoal(1, "Subgoal 1: A."), (), ())]
    empty_result = [AnnotatedSubgoal(Subgoal(1, "Subgoal 1: A."), (), ("",))]
    bare, blank = (
        conversation_tokens("Q", "no such domain", some, estimate_tokens) for some in (no_result, empty_result)
    )
    assert bare["grounder"] == 1 + subgoal + turn and bare == blank


@pytest.mark.parametrize(
    ("given", "kind", "stated", "expected"),
    [
        ("10/3", "number", "3.335", False),
        ("0.125", "number", "0.13", True),
        ("0.125", "number", "0.12", True),
        ("2, 1/3", "list", "2, 0.33", True),
        ("2, 1", "list", "2", False),
        ("2", "list", "2, 1", False),
        ("(x + 1)*2", "expression", "X+1 2.", True),
        ("12 (apples)", "text", "13 apples", False),
        ("Ann", "number", "Bob", False),
        ("Ann", "inequality", "Bob", None),
    ],
)
def test_a_result_is_compared_in_every_part_as_far_as_it_is_written(given, kind, stated, expected):
    assert matches_stated(Execution("ok", given, ({"kind": kind, "text": given},)), stated) is expected


@pytest.mark.parametrize(
    ("subgoal", "action", "given_away"),
    [
        ("Find 3 / 5 of it.", "R1 = Calculator(R2 * 3) = 3/5", ["3/5"]),
        ("Find 13/5 of it.", "R1 = Calculator(R2 * 3) = 3/5", []),
        ("Find 3/5 of it.", "R1 = Calculator(R2 * 3/5) = 3/5", []),
        ("Find 3/1 of it.", "R1 = Calculator(3 * R2 + 1) = 3", []),
        ("Find one of them.", "R1 = Calculator(R2 - R3) = 1", []),
        ("Find the x in it.", "R1 = QA([R2], Question: Who?) = x", []),
        ("Find Anna.", "R1 = QA([R2], Question: Who?) = Ann", []),
        ("Find ANN   Lee now.", "R1 = QA([R2], Question: Who?) = Ann Lee", ["Ann Lee"]),
        ("Find Ann Lee.", "R1 = QA([R2], Question: Is it Ann Lee?) = Ann Lee", []),
    ],
)
def test_only_a_result_that_need_not_stand_there_is_given_away(subgoal, action, given_away):
    (step,) = steps(f"Subgoal 1: {subgoal}\nAction 1-1: {action}")
    assert results_stated(step, "Who?") == given_away


def test_the_strictest_reading_passes_over_labels_and_references():
    (step,) = steps("Subgoal 1: Add result 5 of Subgoals 5, 5 and 5.\nAction 1-1: R1 = Calculator(R5 + 3) = 5")
    assert not states_strictly(step)
    (step,) = steps("Subgoal 1: Add five.\nAction 1-1: R1 = Define(x) = y\nAction 1-2: R2 = Calculator(5) = 5")
    assert states_strictly(step)


def test_values_of_several_variables_are_told_apart():
    found = steps(
        "Subgoal 1: a\nAction 1-1: R1, R2 = SolveEquation(x) = 7, 8\nAction 1-2: R3 = Calculator(R2 - 7) = 1\n"
        "Action 1-3: R4 = Calculator(R1 + 2) = 9\nAction 1-4: R5 = Count(7 pens) = 1"
    )
    assert ambiguous_operands(found, "Two or eight?") == ["R2", "7"]


def test_the_oracle_gives_each_variable_its_part_or_the_whole():
    def texts(line: str, results: bool = True) -> tuple[str, list[str]]:
        (step,) = steps(f"Subgoal 1: a\nAction 1-1: {line}", results)
        (action,) = with_stated_results(step).actions
        done = asyncio.run(StatedResults("maths").execute(action, {}))
        assert done.status == "ok" and all(value["kind"] == "text" for value in done.values)
        return done.result, [value["text"] for value in done.values]

    assert texts("R1 = QA(x) = Ann, Bob") == ("Ann, Bob", ["Ann, Bob"])
    assert texts("R1, R2 = SolveEquation(x) = 2, 1") == ("2, 1", ["2", "1"])
    assert texts("R1, R2 = SolveEquation(x) = 2") == ("2", ["2", "2"])
    assert texts("R1 = CLICK(Env)", results=False) == ("", [""])
    other_action = Action(("R1",), "QA", "x", "something else")
    other = asyncio.run(StatedResults("maths").execute(other_action, {}))
    assert other.result == ""
    with pytest.raises(ValueError):
        with_stated_results(AnnotatedSubgoal(Subgoal(1, "a"), (other_action, other_action), ("x",)))
