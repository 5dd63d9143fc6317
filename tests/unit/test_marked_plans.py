"""Plans, to-do lists and records as instruct models write them."""

from __future__ import annotations

import random

import pytest

from lumos_queue.prompts.plans import read_plan
from lumos_queue.prompts.task_state import TaskState, read_record, rewrite
from lumos_queue.prompts.todo_list import read_list, write_list
from lumos_queue.records import Ending, Execution
from tests.tool_scripts import Scripted, run

NUMBER = '{"number": 17}'


@pytest.mark.parametrize(
    ("plan", "calls"),
    [
        (f"Plan: the order\n#E1 = state {NUMBER}", [("#E1", "the order", "state", NUMBER)]),
        (f"**Plan:** the order\n**#E1** = `state` {NUMBER}", [("#E1", "the order", "state", NUMBER)]),
        (f"1. **Plan 1:** the order\n   **#E1:** state({NUMBER})", [("#E1", "the order", "state", NUMBER)]),
        (f"```\nPlan: the order\n#E1 = state {NUMBER}\n```", [("#E1", "the order", "state", NUMBER)]),
        (
            f"- Plan: the order\n- #E1 = **state**\n  ```json\n  {NUMBER}\n  ```",
            [("#E1", "the order", "state", NUMBER)],
        ),
        (f"`#E1 = state({NUMBER})`", [("#E1", "", "state", NUMBER)]),
        (f"#E1 = state\nArguments: {NUMBER}", [("#E1", "", "state", NUMBER)]),
        (f"#E1 = all\\_orders\n#E2: state {NUMBER}", [("#E1", "", "all_orders", ""), ("#E2", "", "state", NUMBER)]),
        ("```\n#E1 = orders()\n```\nThat is all.", [("#E1", "", "orders", "")]),
        (f"Plan: use #E1: the order\n#E2 = state {NUMBER}", [("#E2", "use #E1: the order", "state", NUMBER)]),
        (
            "1. List\n#E1 = orders\n2. State\n#E2 = state {}",
            [("#E1", "1. List", "orders", ""), ("#E2", "2. State", "state", "{}")],
        ),
        ("#E1 = state\nnumber: 17", [("#E1", "", "state", "number: 17")]),
        ("#E1 = state\nArguments: number = 17", [("#E1", "", "state", "number = 17")]),
        ("#E1 = state\n{'number': 17}", [("#E1", "", "state", "{'number': 17}")]),
        ("#E1 = state\n```\nnumber: 17\n```", [("#E1", "", "state", "```\nnumber: 17\n```")]),
        (f"#E1 = state({NUMBER}, 2)", [("#E1", "", "state", f"{NUMBER}, 2)")]),
    ],
)
def test_plans_are_read_through_markdown(plan, calls):
    assert [(one.variable, one.purpose, one.name, one.arguments) for one in read_plan(plan)] == calls


def test_plans_of_earlier_versions_are_read_as_they_were():
    plan = f"**#E1** = state {NUMBER}\n#E2 = `state` {NUMBER}\n#E3 = state\n{NUMBER}"
    assert [(one.variable, one.arguments) for one in read_plan(plan, 2)] == [("#E3", "")]
    assert len(read_plan(plan)) == 3

    def calls(version: int) -> list[tuple[str, str]]:
        script = Scripted({"planner": [plan], "solver": ["x"]}, {"state": lambda **_: "shipped"})
        run("rewoo", script, version=version)
        return script.calls

    assert calls(2) == [("state", "")] and calls(3) == [("state", NUMBER)] * 3


@pytest.mark.parametrize(
    "text",
    [
        "**1**. Paint\n**2**. Write",
        "### **Step 1:** Paint\n### **Step 2:** Write",
        "1\\. Paint\n2\\. Write",
        "- **Step 1**: Paint\n- **Step 2**: Write",
        "Task 1: Paint\nTask #2: Write",
        "Step 1 - Paint\nStep 2 – Write",
        "> 1. Paint\n> 2. Write",
        "```\n1. Paint\n2. Write\n```",
        "__1.__ Paint\n__2.__ Write",
    ],
)
def test_lists_are_read_through_markdown(text):
    assert read_list(text) == ("Paint", "Write")
    assert read_list(write_list(read_list(text)), 2) == read_list(text)


def test_a_list_of_an_earlier_version_is_read_as_it_was():
    assert read_list("**1**. Paint\n- Write", 2) == ("Write",)
    script = Scripted({"planner": ["**1**. Paint"]}, answers=[Execution("refused", "no", ({"text": "ann"},))] * 3)
    assert run("open-ended", script, version=2).outcome.ending == Ending.UNREADABLE
    assert run("open-ended", script, version=3).outcome.ending == Ending.CANCELLED


@pytest.mark.parametrize(
    "form", ["{}", "```json\n{}\n```", "Here it is:\n\n```\n{}\n```\nDone.", "`{}`", "**State:**\n{}"]
)
def test_a_state_managers_json_is_read_through_markdown(form):
    record = form.replace("{}", '{"status": "success", "aim": "a", "answer": "b"}')
    assert read_record(record, "state", "{}").success
    state = form.replace("{}", '{"results": [{"call": 1, "aim": "a", "answer": "b"}], "failures": []}')
    assert rewrite(TaskState(), state, "state", "{}").results


def test_every_plan_and_list_is_read():
    rng = random.Random(7)
    pieces = [
        "Plan:",
        "#E1",
        "#E2",
        " = ",
        ": ",
        "f",
        "\n",
        " ",
        "{",
        "}",
        '"',
        "`",
        "```json\n",
        "```",
        "**",
        "1. ",
        "- ",
    ]
    pieces += ["(", ")", "[", "]", NUMBER, "Arguments:", "Step 1", "\x00", "é", "#", "\\_"]
    for _ in range(5_000):
        text = "".join(rng.choice(pieces) for _ in range(rng.randrange(30)))
        read_plan(text)
        assert read_list(write_list(read_list(text))) == read_list(write_list(read_list(text)), 2) == read_list(text)
