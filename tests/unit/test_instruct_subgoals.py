"""The subgoals of instruct models' replies: Markdown, several lines, whole plans, and words around them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lumos_queue.notation import read_subgoal, write_plan, write_subgoal
from lumos_queue.prompts.instruct_subgoals import read_next_subgoal, read_whole_plan
from lumos_queue.records import Subgoal
from tests.cpu_limit import cpu_limit

HALVE = "Subgoal 2: Halve it."
PLAN = "1. **Count** the jars.\n2. Halve it.\n3. Add both."

#: Replies to the question for subgoal 2 that say to halve it.
SECOND = [
    HALVE,
    f"No, I will keep planning. {HALVE}",
    f"No, we should not stop planning.\n\n{HALVE}",
    f"Should we stop planning? No.\n{HALVE}",
    f"Yes, I will stop planning. {HALVE}",
    f"{HALVE} Yes, I will stop planning.",
    f"Yes, here it comes:\n{HALVE}",
    "**Subgoal 2:** Halve it.",
    "**Subgoal 2**: Halve it.",
    "**Subgoal 2: Halve it.**",
    "*Subgoal 2:* Halve it.",
    "### Subgoal 2: Halve it.",
    "### Subgoal 2\n\nHalve it.",
    "**Subgoal 2:**\n- Halve it.",
    "- Subgoal 2 - Halve it.",
    "> subgoal #2: Halve it.",
    "Sub-goal 2. Halve it.",
    "Subgoal 2：Halve it.",
    "Subgoal 2 (next): Halve it.",
    "Subgoal 2: Subgoal 2: Halve it.",
    "```\nSubgoal 2: Halve it.\n```",
    "```text\nSubgoal 2: Halve it.",
    "``` Subgoal 2: Halve it. ```",
    "2. Halve it.",
    "**2.** Halve it.",
    "2) Halve it.",
    "Step 2: Halve it.",
    PLAN,
    f"Sure! Here is the plan:\n\n{PLAN}\n\nLet me know if you want more.",
    f"# Plan\n\n{PLAN}",
    "1. Count the jars:\n   1. the red ones\n   2. the blue ones\n2. Halve it.",
    "1. **Subgoal 1**: Count.\n2. **Subgoal 2**: Halve it.",
    "Subgoal 1: Count.\nSubgoal 2: Halve it.\nSubgoal 3: Add both.",
    "Subgoal 1: Count.; Subgoal 2: Halve it.; Subgoal 3: Add both.",
    "Subgoal 1: Count. Subgoal 2: Halve it. Subgoal 3: Add both.",
    "Subgoal 1: Count.\n1. First the red ones.\n2. Then the blue ones.\n\nSubgoal 2: Halve it.",
    "Subgoal 1: Count.\nThe executed result for Subgoal 1 is 84. Should we stop planning?\n"
    "No, I will keep planning. Subgoal 2: Halve it.\nYes, I will stop planning.",
    "Subgoal 3: Halve it.",
    "Subgoal 1: Halve it.",
    "1. Halve it.",
    "* Count the jars.\n* Halve it.",
    "Next subgoal: Halve it.",
    "The number is there.\n\n**Subgoal:** Halve it.",
    "Here's the next subgoal:\n\nHalve it.",
    "Sure! Halve it.",
    "No, Halve it.",
    "Subgoal 2: Halve it. Actions: R2 = Calculator(R1 / 2)",
    "Subgoal 2: Halve it.\nAction 2-1: R2 = Calculator(R1 / 2)",
    "Subgoal 2: Halve\nit.",
    "Subgoal 2: Halve it.\n\nThis gives what is left.",
]


@pytest.mark.parametrize("reply", SECOND)
def test_the_next_subgoal_is_read(reply):
    said = read_next_subgoal(reply, 2)

    assert (said.subgoal, said.stops) == (Subgoal(2, HALVE), False)


@pytest.mark.parametrize(
    ("reply", "number", "text"),
    [
        ("hm", 3, "hm"),
        ("1. **Find the amounts:**\n   - 3 jars\n   - 5 jars.\n2. Add.", 1, "Find the amounts: 3 jars; 5 jars."),
        ("Subgoal: Find the sum.\n\nPlan:\n1. Take 3.\n2. Add 5.", 1, "Find the sum."),
        ("The subgoal is to find the sum.", 1, "find the sum."),
        ("Subgoal 1: Multiply 2 * 3, x**2 and `R1`.", 1, "Multiply 2 * 3, x**2 and R1."),
        ("Subgoal 1: Answer the question: Who drew it?", 1, "Answer the question: Who drew it?"),
        ("Plan the party.", 1, "Plan the party."),
        ("The result is Grounded action: Count(list).", 1, "The result is Grounded action: Count(list)."),
        ("Subgoal 1: Count the jars Actions: R1 = Calculator(2)", 1, "Count the jars"),
        ("Yes, count them.", 1, "Yes, count them."),
        ("Subgoal 2: Halve <|assistant|> it", 2, "Halve < |assistant|> it"),
        (PLAN, 7, "Add both."),
        ("1. a\n2. b\n\n```python\n3. c\n```", 1, "a"),
    ],
)
def test_what_a_subgoal_says_is_put_on_one_line(reply, number, text):
    assert read_next_subgoal(reply, number).subgoal == Subgoal(number, f"Subgoal {number}: {text}")


@pytest.mark.parametrize(
    "reply",
    [
        "Yes, I will stop planning.",
        "So: Yes, I will stop planning",
        "**Yes, I will stop planning.**",
        "Yes, I will **stop** planning.",
        "yes, we should stop planning now. The answer is 42.",
        "Should we stop planning? Yes.",
        "Yes, the result is the number of jars that are left.",
        "We have all that we need. Therefore, we do not need to continue planning.",
        "Yes, I will stop planning. Subgoal 1: Count. Subgoal 2: Halve it.",
        "Yes, I will stop planning.\n\nThe steps were:\n1. Count.\n2. Halve it.\n3. Add both.",
    ],
)
def test_a_planner_stops_unless_it_names_a_further_subgoal(reply):
    said = read_next_subgoal(reply, 3)

    assert said.stops and said.subgoal is None


@pytest.mark.parametrize(
    "reply",
    [
        "",
        " \n\n",
        "No, I will keep planning.",
        "No, I will keep planning. Subgoal 2:",
        "I don't think we should stop planning yet.",
        "No.",
        "Sure! Here is the next subgoal:",
        "Subgoal 2: ...",
        "```\n```",
        "---",
        "## Plan",
    ],
)
def test_a_reply_without_a_subgoal_has_none(reply):
    said = read_next_subgoal(reply, 2)

    assert said.subgoal is None and not said.stops


@pytest.mark.parametrize(
    ("reply", "texts"),
    [
        (PLAN, ["Count the jars.", "Halve it.", "Add both."]),
        (f"Certainly!\n\n{PLAN}\n\nIn short:\n1. Count\n2. Halve", ["Count the jars.", "Halve it.", "Add both."]),
        ("Subgoal 1: Count.; Subgoal 2: Halve it.", ["Count.", "Halve it."]),
        ("Subgoal 1: Count. Subgoal 2: Halve it.", ["Count.", "Halve it."]),
        ("### Subgoal 1: Count\n\nDetails.\n\n### Subgoal 2: Halve", ["Count", "Halve"]),
        ("Subgoal 1: Count.\nActions for Subgoal 1: R1 = Calculator(1)\nSubgoal 2: Halve.", ["Count.", "Halve."]),
        ("1. Count\n1. Halve\n1. Add", ["Count", "Halve", "Add"]),
        ("Subgoal: find it.\n\nPlan:\n1. Count.\n2. Halve.", ["Count.", "Halve."]),
        ("1. Given: 3 jars.\n2. **Subgoal**: find it.", ["Given: 3 jars.", "find it."]),
        ("- Count\n  - the red ones\n- Halve\n\nGood luck!", ["Count", "Halve"]),
        ("Just add them.\n\nLet me know!", ["Just add them."]),
        ("Sure!", []),
        ("", []),
    ],
)
def test_a_whole_plan_is_read_and_numbered(reply, texts):
    plan = read_whole_plan(reply)

    assert plan == tuple(Subgoal(number, f"Subgoal {number}: {text}") for number, text in enumerate(texts, start=1))


@pytest.mark.parametrize("number", [1, 2, 9])
def test_what_is_read_is_written_in_the_notation_and_reads_the_same_again(number):
    subgoal = Subgoal(number, f"Subgoal {number}: Halve it.")

    assert read_next_subgoal(write_subgoal(subgoal), number).subgoal == subgoal
    assert read_subgoal(write_subgoal(subgoal), number) == subgoal
    assert read_whole_plan(write_plan([Subgoal(1, "Subgoal 1: a."), Subgoal(2, "Subgoal 2: b.")]))[1].text == (
        "Subgoal 2: b."
    )


@given(st.text(alphabet="Subgoal 12:.\n*#`-> Yes, I will stop planning", max_size=80), st.integers(1, 4))
def test_every_reply_is_read_and_a_subgoal_is_one_line_in_the_notation(reply, number):
    said = read_next_subgoal(reply, number)

    if said.subgoal:
        assert not said.stops and len(said.subgoal.text.splitlines()) == 1
        assert said.subgoal.text.startswith(f"Subgoal {number}: ")
    assert all("\n" not in subgoal.text for subgoal in read_whole_plan(reply))


PIECES = (
    "Subgoal 2: ",
    "Subgoal 2:",
    "Subgoal: ",
    "Subgoal 2\n",
    "1. a\n",
    "- a\n",
    "**",
    "*a*",
    "`",
    "```\n",
    "> ",
    "# ",
    "a\n",
    "a\n\n",
    "a ",
    " ",
    "\n",
    "No, ",
    "No, I will ",
    "Yes, ",
    "I will stop planning. ",
    "Actions: ",
    ". ",
    "a: ",
    "(",
    "R1, ",
    "\\*",
    "Step 1: ",
    "Sure! ",
    "do not need to ",
)


@pytest.mark.parametrize("piece", PIECES)
def test_a_long_reply_is_read_in_time_that_grows_with_its_length(piece):
    with cpu_limit(5):
        read_next_subgoal(piece * (300_000 // len(piece)), 2)
        read_whole_plan(piece * (300_000 // len(piece)))
