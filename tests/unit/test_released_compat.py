"""Raw annotations as the original cuts them up and writes them: spec/lumos.md 2.3 to 3.2, vectors A1 and A4."""

from __future__ import annotations

import json

import pytest

from lumos_queue.compat.plan_text import parse_line, read_reported_result, split_plan
from lumos_queue.compat.raw_annotations import RawAnnotation, read_raw
from lumos_queue.compat.training_files import export_rows
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.prompts.dialogue import PLAN_HEAD
from tests.raw_files import raw_line, write_raw

A4 = """\
Subgoal-based plan:
Subgoal 1: Multiply.
Action 1-1: R1 = Calculator(12 * 3) = 36\x20

Subgoal 2: Subtract.
Action 2-1: R2 = Calculator(R1 - 5) = 31\x20
Action 2-2: Output = R2 = 31\x20"""


def exported(plans: str | list[str], domain: str, module, formulation, task: str = " How many? ") -> list[dict]:
    raws = [RawAnnotation(task, "", plan) for plan in ([plans] if isinstance(plans, str) else plans)]
    return [json.loads(line) for line in export_rows(raws, domain, module, formulation)]


def said(row: dict, role: str) -> list[str]:
    return [message["content"] for message in row["messages"] if message["role"] == role]


# --- action lines: A1 -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "variables", "name", "arguments", "result", "told"),
    [
        ("Action 1-1: R1 = Calculator(2 - 0.5) = 1.5 ", ["R1"], "Calculator", "2 - 0.5", "1.5", "1.5"),
        (
            "Action 3-1: R5, R6 = SolveEquation(R2=xy, R3=x/y) = -9/8, -3/5 ",
            ["R5", "R6"],
            "SolveEquation",
            "R2=xy, R3=x/y",
            "-9/8, -3/5",
            "-9/8, -3/5",
        ),
        ("Action 4-1: Output = R9 = 40", ["Output"], "", "R9", "40", "40"),
        ("Action 4-1: Output =  R9  = 40", ["Output"], "", "R9", "40", "40"),
        (
            "Action 1-1: R1 = QA([R0], Question: q? )",
            ["R1"],
            "QA",
            "[R0], Question: q? ",
            "[R0], Question: q? ",
            "QA([R0], Question: q? )",
        ),
        ("Action 1-1: R1 = Calculator(2 + 3)", ["R1"], "Calculator", "2 + 3", "2 + 3", "Calculator(2 + 3)"),
        ("Action 1-1: R1 = Calculator(2 + 3)=5", ["R1"], "Calculator", "", "Calculator(2 + 3)=5", ""),
        ("Action 1-1: R1 = Calculator(2 + (3) = 5", ["R1"], "Calculator", "2 + (3", "2 + (3", "5"),
        ("Action 1-1: R1 = Calculator(2 + 3)) = 5", ["R1"], "Calculator", "2 + 3)", "5", "5"),
        ("Action 1-1: R1 = 5", ["R1"], "", "", "5", "5"),
        ("Action 2-1: R4 = SetEquation(R2 = R3) = a = b", ["R4"], "SetEquation", "R2 = R3", "a = b", "b"),
        (
            "Action 1-3: R3 = QA([R2], Question: q?) = 330 metres. ",
            ["R3"],
            "QA",
            "[R2], Question: q?",
            "330 metres.",
            "330 metres",
        ),
        ("Action 1-1: R1 = Calculator(1 / 2) = .5 ", ["R1"], "Calculator", "1 / 2", ".5", "5"),
        ("", [""], "", "", "", ""),
    ],
)
def test_action_lines_are_parsed_as_the_original_does(line, variables, name, arguments, result, told):
    parsed = parse_line(line)
    assert (list(parsed.variables), parsed.name, parsed.arguments) == (variables, name, arguments)
    assert parsed.result == result
    assert read_reported_result(line) == told


def test_web_lines_have_arguments_up_to_the_last_parenthesis_and_no_result():
    parsed = parse_line("Action 2-1: R2 = TYPE(R1, QUERY: City (from), TEXT: Rome). ", has_result=False)
    assert parsed.text() == "R2 = TYPE(R1, QUERY: City (from), TEXT: Rome)"
    assert parsed.result == ""


def test_a_literal_loses_its_value_and_an_alias_gets_parentheses():
    assert parse_line("Action 1-1: R1 = 5").text() == "R1 = ()"
    assert parse_line("Action 4-1: Output = R9 = 40").text() == "Output = (R9)"


# --- blocks: 2.3 ------------------------------------------------------------------------------------------------------


def test_a_plan_is_cut_at_the_first_subgoal_and_at_blank_lines():
    blocks = split_plan(A4)
    assert [block.subgoal for block in blocks] == ["Subgoal 1: Multiply.", "Subgoal 2: Subtract."]
    assert [len(block.lines) for block in blocks] == [1, 2]


def test_subgoals_without_a_blank_line_merge_and_closing_breaks_add_an_action():
    assert split_plan("Subgoal 1: a\nAction 1-1: x\nSubgoal 2: b")[0].lines == ("Action 1-1: x", "Subgoal 2: b")
    assert split_plan("Subgoal 1: a\nAction 1-1: x\n")[0].lines == ("Action 1-1: x", "")
    assert split_plan("Subgoal 1: a\nx\n\nThat is all.")[1].lines == ()
    assert [block.subgoal for block in split_plan("No plan")] == ["n"]


# --- A4: all four files -----------------------------------------------------------------------------------------------


def test_the_plan_files_of_the_full_example_are_exact():
    [row] = exported(A4, "maths", "plan", "iterative")
    first = f"{PLAN_HEAD}Task:  How many? ; Initial Environment Description: None."
    assert said(row, "assistant") == [
        "Subgoal 1: Multiply.",
        "No, I will keep planning. Subgoal 2: Subtract.",
        "Yes, I will stop planning.",
    ]
    assert said(row, "user") == [
        first,
        "The executed result for Subgoal 1 is 36. Should we stop planning?",
        "The executed result for Subgoal 2 is 31. Should we stop planning?",
    ]
    [line] = export_rows([RawAnnotation("How many?", "", A4)], "maths", "plan", "onetime")
    assert line == (
        '{"dataset": "maths", "id": "maths_0", "messages": [{"role": "user", "content": "Please provide a reasonable '
        'subgoal-based plan to solve the given task.\\nTask: How many?; Initial Environment Description: None."}, '
        '{"role": "assistant", "content": "Subgoal 1: Multiply.; Subgoal 2: Subtract."}]}'
    )


def test_the_ground_files_of_the_full_example_are_exact():
    head = DOMAINS.load("maths").ground_head
    [row] = exported(A4, "maths", "ground", "iterative")
    assert said(row, "assistant") == ["R1 = Calculator(12 * 3)", "R2 = Calculator(R1 - 5); R2 = (R2)"]
    assert said(row, "user") == [
        f"{head}Task:  How many?  \nSubgoal to be grounded: Subgoal 1: Multiply.\n",
        "Subgoal to be grounded: Subgoal 2: Subtract.\n",
    ]
    [row] = exported(A4, "maths", "ground", "onetime")
    assert said(row, "user") == [
        f"{head}Task:  How many?  \nSubgoals to be grounded: Subgoal 1: Multiply.; Subgoal 2: Subtract.\n"
    ]
    assert said(row, "assistant") == ["R1 = Calculator(12 * 3); R2 = Calculator(R1 - 5); Output = (R2)"]


# --- quirks of 3.2 ----------------------------------------------------------------------------------------------------


def test_output_is_renamed_inside_texts_too_in_subgoals_that_end_in_it():
    plan = (
        "Subgoal 1: a\nAction 1-1: R1 = QA([], Question: q?) = x. \n\n"
        "Subgoal 2: b\nAction 2-1: Output = QA([R1], Question: What is the Output?) = The Output. \n\n"
        "Subgoal 3: c\nAction 3-1: R3 = QA([Output], Question: z?) = Output. \n\n"
        "Subgoal 4: d\nAction 4-1: Answer = QA([Output], Question: z?) = Output. "
    )
    [row] = exported(plan, "complex_qa", "ground", "iterative")
    assert said(row, "assistant")[1:] == [
        "R2 = QA([R1], Question: What is the R2?)",
        "R3 = QA([Output], Question: z?)",
        "Answer = QA([R4], Question: z?)",
    ]
    [row] = exported(plan, "complex_qa", "plan", "iterative")
    assert [text.partition(" is ")[2].partition(".")[0] for text in said(row, "user")[1:]] == [
        "x",
        "The R2",
        "Output",
        "R4",
    ]
    [row] = exported(plan, "complex_qa", "ground", "onetime")
    assert "Output = QA([R1], Question: What is the Output?)" in said(row, "assistant")[0]


def test_the_qa_grounder_is_told_earlier_results_with_their_full_stop_in_string_order():
    plan = "\n\n".join(
        f"Subgoal {number}: s{number}\nAction {number}-1: R{number} = QA([], Question: q?) = r{number}. "
        for number in range(1, 12)
    )
    [row] = exported(plan, "complex_qa", "ground", "iterative")
    assert said(row, "user")[-1] == (
        "Subgoal to be grounded: Subgoal 11: s11 The grounding could be based on the following results:"
        + "".join(f" The execution result for Subgoal {n} is r{n}." for n in (1, 10, 2, 3, 4, 5, 6, 7, 8, 9))
        + "\n"
    )


def test_the_web_planner_is_told_what_was_done_with_two_dots_after_a_closing_space():
    plan = (
        "Subgoal 1: Click on it. \nAction 1-1: R1 = CLICK(Env, QUERY: it). \n\n"
        "Subgoal 2: Type: Rome.\nAction 2-1: R2 = TYPE(R1, QUERY: City, TEXT: Rome). "
    )
    [row] = exported(plan, "web_agent", "plan", "iterative")
    assert said(row, "user")[1:] == [
        "We have already click on it.. Should we stop planning?",
        "We have already type: Rome. Should we stop planning?",
    ]
    assert said(row, "assistant")[0] == "Subgoal 1: Click on it. "


def test_rows_are_numbered_after_filtering_and_only_iterative_files_filter():
    good, empty = A4, "Subgoal 1: Multiply.\nAction 1-1: R1 = Calculator(12) = 12 \n\nThat is all."
    rows = exported([empty, good, good], "maths", "plan", "iterative")
    assert [row["id"] for row in rows] == ["maths_0", "maths_1"]
    assert len(exported([empty, good, good], "maths", "plan", "onetime")) == 3
    assert said(exported(empty, "maths", "plan", "onetime")[0], "assistant") == ["Subgoal 1: Multiply.; That is all."]


def test_a_first_subgoal_that_ends_in_output_needs_a_row_before_it():
    alone = "Subgoal 1: a\nAction 1-1: Output = Calculator(1 + 1) = 2 "
    assert exported(alone, "maths", "ground", "iterative") == []
    assert exported(alone, "maths", "plan", "iterative") == []
    rows = exported([A4, alone], "maths", "ground", "iterative")
    assert said(rows[1], "assistant") == ["R2 = Calculator(1 + 1)"]  # the last R of A4 was R1: it is never forgotten


@pytest.mark.parametrize("last", ["", " ", "Rate = Calculator(1 + 1) = 2", "R = Calculator(1 + 1) = 2"])
def test_a_row_whose_last_line_is_blank_or_sets_no_numbered_variable_is_dropped(last):
    line = last if not last.strip() else f"Action 2-1: {last}"
    plan = f"Subgoal 1: a\nAction 1-1: R1 = Calculator(1 + 1) = 2\n\nSubgoal 2: b\n{line}"
    for module in ("plan", "ground"):
        assert exported(plan, "maths", module, "iterative") == []
        assert len(exported(plan, "maths", module, "onetime")) == 1


def test_planner_and_grounder_drop_rows_of_their_own():
    plan = f"{A4.partition('Action 2-2')[0]}Subgoal 3: b"
    assert len(exported(plan, "maths", "plan", "iterative")) == 1  # `b` counts as a variable
    assert exported(plan, "maths", "ground", "iterative") == []


def test_what_the_planner_is_told_is_stripped_again_before_should():
    plan = "Subgoal 1: a\nAction 1-1: R1 = Calculator(1 + 1)=2\n\nSubgoal 2: b\nAction 2-1: R2 = Calculator(2) = 3 ."
    [row] = exported(plan, "maths", "plan", "iterative")
    assert said(row, "user")[1:] == [
        "The executed result for Subgoal 1 is. Should we stop planning?",
        "The executed result for Subgoal 2 is 3. Should we stop planning?",
    ]


def test_earlier_results_are_labelled_by_what_stands_before_the_colon():
    plan = (
        "Subgoal 1: s\nAction 1-1: R1 = QA([], Question: q?) = r1. \n\n"
        "Step 2: s\nAction 2-1: R2 = QA([], Question: Which? )\n\n"
        "Subgoal 1: s\nAction 3-1: R3 = QA([], Question: q?) = r3. \n\n"
        "No label\nAction 4-1: R4 = QA([], Question: q?) = r4. \n\n"
        "Subgoal 5: s\nAction 5-1: R5 = QA([], Question: q?) = r5. "
    )
    [row] = exported(plan, "complex_qa", "ground", "iterative")
    assert said(row, "user")[-1].partition("results:")[2] == (
        " The execution result for No labe is r4. The execution result for Step 2 is [], Question: Which? "
        " The execution result for Subgoal 1 is r3.\n"
    )


def test_a_closing_line_break_becomes_an_empty_action():
    [row] = exported(f"{A4}\n", "maths", "ground", "onetime")
    assert said(row, "assistant")[0].endswith("; Output = (R2);  = ()")


def test_texts_are_written_as_ascii_json():
    [line] = export_rows([RawAnnotation("Größe?", "", A4)], "maths", "plan", "onetime")
    assert "Task: Gr\\u00f6\\u00dfe?;" in line


# --- what is refused, and raw files -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("domain", "module", "formulation", "problem"),
    [
        ("math", "plan", "iterative", "No released domain called 'math'"),
        ("maths", "planner", "iterative", "No module called 'planner'"),
        ("maths", "plan", "one-pass", "No formulation called 'one-pass'"),
        ("multimodal", "ground", "iterative", "'multimodal' was never published"),
    ],
)
def test_unknown_names_are_refused_before_the_first_row(domain, module, formulation, problem):
    with pytest.raises(SpecError, match=problem):
        export_rows([], domain, module, formulation)


def test_raw_files_come_back_as_they_were(tmp_path):
    rows = [
        RawAnnotation("t", "plan", A4, "31"),
        RawAnnotation("w", ("[a] -> CLICK", "[b] -> TYPE: x"), "Subgoal 1: ä"),
    ]
    write_raw(rows, tmp_path / "raw.json")
    assert list(read_raw(tmp_path / "raw.json")) == rows


def test_bad_raw_rows_are_named_and_the_others_read(tmp_path):
    good = raw_line(RawAnnotation("t", "p", A4))
    file = tmp_path / "raw.json"
    file.write_bytes(
        b'{"task": 1}\n\n{"task": "t", "natural_language_plan": "p"}\n[]\n{"broken\n'
        b'{"task": "\xff"}\n{"task": "t", "natural_language_plan": [1], "subgoal_plan": ""}\n' + good.encode()
    )
    found = list(read_raw(file))
    bad = [(one.row, one.field) for one in found if isinstance(one, BadRow)]
    assert bad == [
        (1, "natural_language_plan"),
        (3, "subgoal_plan"),
        (4, ""),
        (5, ""),
        (6, ""),
        (7, "natural_language_plan"),
    ]
    assert found[-1] == RawAnnotation("t", "p", A4)
