"""The actions of instruct models' replies: in lists, emphasis and code, on several lines, among prose."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lumos_queue.notation import TOO_MANY, read_actions
from lumos_queue.prompts.instruct_actions import MAX_SHOWN, read_instruct_actions
from lumos_queue.records import Action
from tests.cpu_limit import cpu_limit

ADD, DOUBLE = "R1 = Calculator(2 + 3)", "R2 = Calculator(R1 * 2)"


def read(reply: str, calls: bool = True, **options) -> list[str]:
    """What is run; what cannot be read has a `?` in front."""
    return [
        action.raw if action.variables else f"? {action.raw}"
        for action in read_instruct_actions(reply, calls, **options)
    ]


@pytest.mark.parametrize(
    "reply",
    [
        f"{ADD}; {DOUBLE}",
        "R1=Calculator(2 + 3);R2=Calculator(R1 * 2);",
        f"{ADD}, {DOUBLE}",
        f"{ADD} and {DOUBLE}.",
        f"{ADD}\n{DOUBLE}",
        f"Here are the actions:\n\n```python\n{ADD}\n{DOUBLE}\n```\n\nThey add and double.",
        f"```\n{ADD}  # 5 jars\n\n# the double\n{DOUBLE}\nprint(R2)",
        f"1. {ADD}\n2. {DOUBLE}",
        f"- `{ADD}`\n- `{DOUBLE}`",
        f"* **{ADD}** (5 jars)\n* **{DOUBLE}** = 10",
        f"Action 1: {ADD}\nAction 2: {DOUBLE}",
        f"Step 1: {ADD}\n**Step 2:** {DOUBLE}",
        f"**Action 1-1:** `{ADD}`\n**Action 1-2:** `{DOUBLE}`",
        f"Actions: {ADD}; {DOUBLE}",
        f"Subgoal 1: Add and double. Actions: {ADD}; {DOUBLE}",
        f"{ADD} = 5\n{DOUBLE} = 10",
        f"{ADD} → 5\n> {DOUBLE}.",
        "**R1** = Calculator(2 + 3)\n`R2` = `Calculator(R1 * 2)`",
        "R1 = Calculator(\n    2\n    + 3\n)\nR2 = Calculator(R1 * 2)",
        f"First `{ADD}` adds, then `{DOUBLE}` doubles.",
        f"So {ADD} gives 5, and {DOUBLE} gives 10.",
        f"{ADD}\n{DOUBLE}\n\nTogether:\n```\n{ADD}\n{DOUBLE}\n```",
        f"{ADD}\n{DOUBLE}\n\nwhere\n- R1 = the number of jars\n- R2 = twice that number",
        f"Subgoal 1: Add.\n{ADD}\n{DOUBLE}\nSubgoal 2: Square.\nR3 = Calculator(R2**2)",
        f"Action 1-1: {ADD}\nAction 1-2: {DOUBLE}\nAction 2-1: R3 = Calculator(R2**2)",
        f"Actions for Subgoal 2:\nR3 = Calculator(R2**2)\n\nActions for Subgoal 1:\n{ADD}\n{DOUBLE}",
        f"{ADD}\n{DOUBLE}\n\nLater, for Subgoal 2:\n\n**Subgoal 2**: Square.\nR3 = Calculator(R2**2)",
        f"Subgoal 7: Add.\n{ADD}\n{DOUBLE}",
    ],
)
def test_the_actions_of_the_subgoal_are_read(reply):
    assert read(reply, subgoal=1) == [ADD, DOUBLE]
    assert read_instruct_actions(reply, subgoal=1)[0] == Action(("R1",), "Calculator", "2 + 3", ADD)


@pytest.mark.parametrize(
    ("reply", "actions"),
    [
        ("", []),
        ("```\n```", []),
        ("I think it is 5.", ["? I think it is 5."]),
        ("Calculator(2 + 3)", ["? Calculator(2 + 3)"]),
        ("```python\nx = 2 + 3\nprint(x)\n```", ["? x = 2 + 3 print(x)"]),
        (f"{ADD}\nCalculator(4)", [ADD, "? Calculator(4)"]),
        (f"{ADD}\nx = Calculator(4)", [ADD, "? x = Calculator(4)"]),
        (f"{ADD}\nR2: Calculator(4)", [ADD, "? R2: Calculator(4)"]),
        (f"{ADD} + 2", [f"? {ADD} + 2"]),
        (f"{ADD} * R1; {DOUBLE}", [f"? {ADD} * R1", DOUBLE]),
        ("R1 = Calculator(2 + 3", ["R1 = Calculator(2 + 3"]),
        (f"R1 = Calculator(2 + 3\n{DOUBLE}", ["R1 = Calculator(2 + 3", DOUBLE]),
        ("R1 = Code(f(\n  2, # two\n  3))", ["? R1 = Code(f( 2, # two 3))"]),
        ("R1, R2 = Split(x)", ["R1, R2 = Split(x)"]),
        ("R1 = (R2)", ["R1 = (R2)"]),
        ("R1 = 84 # jars", ["R1 = 84"]),
        ("Output = R2", ["Output = R2"]),
        ("R1 = R2(n=5)", ["R1 = R2(n=5)"]),
        ("R1 = Calculator(14 \\* 6)", ["R1 = Calculator(14 * 6)"]),
        ("R1 = Code(f(**k) + 2 *3)", ["R1 = Code(f(**k) + 2 *3)"]),
        ("R1 = QA([R2], Question: Who (of two) is `x`; y?)", ["R1 = QA([R2], Question: Who (of two) is `x`; y?)"]),
        ("R1 = Next(p)\nR1 = Next(p)", ["R1 = Next(p)", "R1 = Next(p)"]),
        ("We know that R1 = 84 jars.", ["? We know that R1 = 84 jars."]),
    ],
)
def test_an_action_is_read_as_it_is_written_or_not_at_all(reply, actions):
    assert read(reply) == actions


@pytest.mark.parametrize(
    ("reply", "actions"),
    [
        ("R1 = SELECT `name` FROM cheese;", ["R1 = SELECT `name` FROM cheese"]),
        ("`R1 = SHOW TABLES` lists them.", ["R1 = SHOW TABLES"]),
        ("We list them by `R1 = SHOW TABLES`.", ["R1 = SHOW TABLES"]),
        ("**R1 = SHOW TABLES**", ["R1 = SHOW TABLES"]),
        ("R1 = SELECT 1\nThis is one.", ["R1 = SELECT 1"]),
        ("```sql\nR1 = SELECT name\nFROM cheese\nWHERE m > 2;\n```", ["R1 = SELECT name FROM cheese WHERE m > 2"]),
        ("```\nR1 = SELECT 1\nR2 = SELECT (2)\n```", ["R1 = SELECT 1", "R2 = SELECT (2)"]),
        ("```\nR1 = SELECT a -- the first\nFROM t\n```", ["? R1 = SELECT a -- the first FROM t"]),
        ("```sql\nSELECT 1\n```", ["? SELECT 1"]),
    ],
)
def test_actions_that_are_no_calls_are_read(reply, actions):
    assert read(reply, calls=False) == actions


def test_a_reply_may_go_on_with_what_was_begun_for_it():
    for reply in ("Search(red)", "```\nSearch(red)\n```", "R1 = Search(red)"):
        assert read(reply, primer="R1 = ") == ["R1 = Search(red)"]


def test_of_a_whole_plan_the_actions_of_all_subgoals_are_read():
    assert read(f"Subgoal 1: Add.\n{ADD}\n\nSubgoal 2: Double.\n{DOUBLE}") == [ADD, DOUBLE]


def test_a_solver_may_write_no_action_but_not_one_that_cannot_be_read():
    assert read("Subgoal 1: Think about it.", must_act=False) == []
    assert read("Subgoal 1: Add. Actions: Calculator(2)", must_act=False)[0].startswith("? ")


def test_a_long_reply_that_cannot_be_read_is_shown_in_part():
    (action,) = read_instruct_actions("I think\n" * 1000)

    assert len(action.arguments) == MAX_SHOWN + 1 and action.arguments.endswith("…") and "\n" not in action.raw


def test_the_actions_after_the_most_are_counted_and_not_run():
    reply = "\n".join(f"R{number} = Calculator({number})" for number in range(1, 8))
    *first, excess = read_instruct_actions(reply, max_actions=5)

    assert [action.variables for action in first] == [(f"R{number}",) for number in range(1, 6)]
    assert (excess.variables, excess.name, excess.arguments) == ((), TOO_MANY, "7 actions")


@given(st.text(alphabet="R1 = Calc(2);\n`*#,. ", max_size=60))
def test_every_reply_is_read_and_what_runs_reads_the_same_in_lumos_notation(reply):
    actions = [action for action in read_instruct_actions(reply) if action.variables]

    for action in actions:
        (same,) = read_actions(action.raw) or (None,)
        assert same and (same.variables, same.name, same.arguments) == (action.variables, action.name, action.arguments)


PIECES = (
    "R1 = Calculator(1)\n",
    "R1 = Calculator(1); ",
    "R1 = Calculator(1), ",
    "R1 = (",
    "R1 = f(",
    "R1 = f(\n",
    "R1, ",
    "; R1 = f(",
    "so R1 = f( ",
    "so R1 = f(1) ",
    "`R1 = ",
    "R1 = ",
    "f(",
    "f()\n",
    "(",
    "```\n",
    "```\nR1 = f(\n",
    "*",
    "**R1 = ",
    "Actions: ",
    "Actions: R1 = 1 ",
    "Action 1-1: R1 = f(1)\n",
    "Subgoal 1: ",
    "Subgoal 1: R1 = 1\n",
    " ",
    "x = f(1)\n",
    "print(",
    "Actions for Subgoal 1\n",
    "- ",
    "R1 = a `",
    ", and ",
)


@pytest.mark.parametrize("calls", [True, False])
@pytest.mark.parametrize("piece", PIECES)
def test_a_long_reply_is_read_in_time_that_grows_with_its_length(piece, calls):
    with cpu_limit(8):
        read_instruct_actions(piece * (300_000 // len(piece)), calls, 1000, subgoal=1)
        read_instruct_actions("```\n" + piece * (300_000 // len(piece)), calls, 1000, subgoal=1)
