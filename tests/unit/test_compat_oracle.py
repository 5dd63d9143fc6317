"""The export in the released layout, byte for byte: by hand for the annex of spec/lumos.md, and against a second,
independent reading of its rules (tests/compat_oracle.py) on 200 raw annotations that exercise every quirk."""

from __future__ import annotations

import json
from random import Random

import pytest

from lumos_queue.compat.raw_annotations import RawAnnotation
from lumos_queue.compat.training_files import export_rows
from tests import compat_oracle

PLAN = "Please provide a reasonable subgoal-based plan to solve the given task.\\nTask: "
NONE = "; Initial Environment Description: None."
A4 = (
    "Subgoal 1: Calculate the number of eggs in 12 boxes.\nAction 1-1: R1 = Calculator(12 * 3) = 36\n\n"
    "Subgoal 2: Take away the broken ones.\nAction 2-1: R2 = Calculator(R1 - 5) = 31\nAction 2-2: Output = R2 = 31"
)

#: Lines of actions with a quirk each (annex A1 among them): results with and without spaces, dots, second equals
#: signs, brackets too many and too few, aliases, literals, nested brackets, two variables, names inside queries.
LINES = [
    "R{n} = Calculator(2 - 0.5) = 1.5 ",
    "R{n} = Calculator(2 + 3)",
    "R{n} = Calculator(2 + 3)=5",
    "R{n} = Calculator(2 + (3) = 5",
    "R{n} = Calculator(2 + 3)) = 5",
    "R{n} = 5",
    "R{n} = R9 = 40",
    "R{n} = SetEquation(R2 = R3) = a = b",
    "R{n} = QA([R2], Question: q?) = 330 metres. ",
    "R{n} = QA([R2, R3], Question: Is it (really) so; R9 = no?) = Yes. ",
    "R{n}, R9 = SolveEquation(x+y=3) = 1, 2 ",
    "R{n} = KnowledgeQuery(The Office (TV series)) = WikipediaPage(The Office (TV series)). ",
    "R{n} = ParagraphRetrieve(R1, Query: Output of the mine) = Paragraph(Mine-3). ",
    "Output = R2 = 31",
    "Output = Calculator(R1 - R2) = 7",
    "Output = QA([R1], Question: The Output?) = No. ",
    "R{n} = Count(1, 4, ...) = ",
    "R{n} = Calculator(2 + 3) = 5.",
    "R{n} = Define(n - 2) = n - 2",
    "R{n} = Calculator((2 + 3) * (4)) = 20 ",
    "R{n} = Calculator(2 + 3) = 5 apples (red)",
    "R{n} = Calculator(2 + 3)  = 5",
    "Answer = Calculator(1 + 1) = 2",
    "R{n} = Calculator(½ + ½) = 1",
    "R{n} = Code(If R1 > 0, R1, -R1) = 64",
    "Output =  R2  = 31",
    "R{n} =  R9 = 4",
    "R{n} = QA([R1], Question: Which one? )",
    "Rate = Calculator(R1 / 2) = 3",
    "R{n} = Calculator(1 - 1) = . ",
    "R{n} = Calculator(1 + 1) = 2 .",
    "Output = QA([R1], Question: Is it?) = The Output ",
    "R{n}, Output = Count(1, 2) = 2",
]
WEB = [
    "R{n} = CLICK(Env, QUERY: Click the button (left))",
    "R{n} = TYPE(R1, QUERY: the field, TEXT: a; b)",
    "R{n} = SELECT(R2, QUERY: the box, TEXT: 2 (two))",
    "R{n} = CLICK(R1, QUERY: no end",
    "Output = CLICK(R1, QUERY: the Output pane)",
    "R{n} = CLICK(R1, QUERY: done.). ",
    "Env = CLICK(R1, QUERY: Output)",
]
SUBGOALS = [
    "Work it out.",
    "Work it out. ",
    "Find the Output",
    "open the page...",
    'Ünïcode “quotes” \\ and "these"',
    "One: two = three",
    "",
    "Tell whether it stands; or not.",
]
LABELS = ["Step 2", "Subgoal 1", "Subgoal 3 (again)", "Therefore"]
TASKS = ["How many are left?", " Spaces around ", 'A "quoted" task\twith a tab', "Émile has 3 €.", "Two\nlines"]


def raws(domain: str) -> list[dict]:
    """200 raw annotations, the same at every run."""
    random, found = Random(7), []
    for number in range(200):
        count = random.choice([1, 2, 2, 3, 4, 11]) if number % 20 else 11  # Subgoal 10 sorts before Subgoal 2
        parts, variable = [], 1
        for subgoal in range(1, count + 1):
            label = f"Subgoal {subgoal}" if subgoal == 1 or random.random() < 0.9 else random.choice(LABELS)
            lines = [f"{label}: {random.choice(SUBGOALS)}"]
            for place in range(1, random.choice([1, 1, 2, 3]) + 1):
                action = random.choice(WEB if domain == "web_agent" else LINES).format(n=variable)
                lines.append(f"Action {subgoal}-{place}: {action}")
                variable += 1
            if random.random() < 0.03:
                lines.append(random.choice(["", " ", "Note: nothing", "R7"]))
            parts.append("\n".join(lines))
        plan = "\n\n".join(parts)
        match number % 10:
            case 1:
                plan = f"Subgoal-based plan:\n{plan}"
            case 2:
                plan += "\n"  # adds an empty action
            case 3:
                plan += "\n\nThat is the plan."  # a subgoal without actions
            case 4:
                plan = plan.replace("\n\nSubgoal 2", "\nSubgoal 2")  # two subgoals become one
            case 5:
                plan = plan.partition("\n")[0]  # a subgoal without actions, alone
            case 6 if number % 20 == 6:
                plan = plan.replace("Subgoal 1", "Subgoal one")  # nowhere to begin
        found.append({"task": random.choice(TASKS), "natural_language_plan": "", "subgoal_plan": plan})
    return found


@pytest.mark.parametrize("domain", ["maths", "complex_qa", "web_agent"])
@pytest.mark.parametrize("module", ["plan", "ground"])
@pytest.mark.parametrize("formulation", ["iterative", "onetime"])
def test_200_raw_annotations_are_exported_as_a_second_reading_of_the_rules_has_them(domain, module, formulation):
    given = raws(domain)
    expected = compat_oracle.rows(given, domain, module, formulation)
    exported = list(export_rows([RawAnnotation(**raw) for raw in given], domain, module, formulation))
    assert len(expected) > 60
    for number, (line, wanted) in enumerate(zip(exported, expected, strict=False)):
        assert line == wanted, f"row {number}"
    assert len(exported) == len(expected)


def test_annex_a4_by_hand():
    raw = [RawAnnotation("How many eggs are whole?", "", A4)]
    plan = (
        '{"dataset": "maths", "id": "maths_0", "messages": [{"role": "user", "content": "'
        + PLAN
        + "How many eggs are whole?"
        + NONE
        + '"}, {"role": "assistant", "content": "Subgoal 1: Calculate the number '
        'of eggs in 12 boxes."}, {"role": "user", "content": "The executed result for Subgoal 1 is 36. Should we stop '
        'planning?"}, {"role": "assistant", "content": "No, I will keep planning. Subgoal 2: Take away the broken '
        'ones."}, {"role": "user", "content": "The executed result for Subgoal 2 is 31. Should we stop planning?"}, '
        '{"role": "assistant", "content": "Yes, I will stop planning."}]}'
    )
    assert list(export_rows(raw, "maths", "plan", "iterative")) == [plan]
    (ground,) = export_rows(raw, "maths", "ground", "iterative")
    replies = [message["content"] for message in json.loads(ground)["messages"] if message["role"] == "assistant"]
    assert replies == ["R1 = Calculator(12 * 3)", "R2 = Calculator(R1 - 5); R2 = (R2)"]
    turns = [message["content"] for message in json.loads(ground)["messages"] if message["role"] == "user"]
    assert turns[0].endswith(
        "Task: How many eggs are whole? \nSubgoal to be grounded: Subgoal 1: Calculate the number "
        "of eggs in 12 boxes.\n"
    )
    assert turns[1] == "Subgoal to be grounded: Subgoal 2: Take away the broken ones.\n"
    (ground,) = export_rows(raw, "maths", "ground", "onetime")
    assert json.loads(ground)["messages"][1]["content"] == (
        "R1 = Calculator(12 * 3); R2 = Calculator(R1 - 5); Output = (R2)"
    )
    assert json.loads(ground)["messages"][0]["content"].endswith(
        "Subgoals to be grounded: Subgoal 1: Calculate the number of eggs in 12 boxes.; Subgoal 2: Take away the "
        "broken ones.\n"
    )


@pytest.mark.parametrize(
    ("line", "call", "told"),
    [
        ("Action 1-1: R1 = Calculator(2 - 0.5) = 1.5 ", "R1 = Calculator(2 - 0.5)", "1.5"),
        (
            "Action 3-1: R5, R6 = SolveEquation(R2=xy, R3=x/y) = -9/8, -3/5 ",
            "R5, R6 = SolveEquation(R2=xy, R3=x/y)",
            "-9/8, -3/5",
        ),
        ("Action 1-1: R1 = Calculator(2 + 3)", "R1 = Calculator(2 + 3)", "Calculator(2 + 3)"),
        ("Action 1-1: R1 = Calculator(2 + 3)=5", "R1 = Calculator()", ""),
        ("Action 1-1: R1 = Calculator(2 + (3) = 5", "R1 = Calculator(2 + (3)", "5"),
        ("Action 1-1: R1 = Calculator(2 + 3)) = 5", "R1 = Calculator(2 + 3))", "5"),
        ("Action 1-1: R1 = 5", "R1 = ()", "5"),
        ("Action 2-1: R4 = SetEquation(R2 = R3) = a = b", "R4 = SetEquation(R2 = R3)", "b"),
        ("Action 1-3: R3 = QA([R2], Question: q?) = 330 metres. ", "R3 = QA([R2], Question: q?)", "330 metres"),
    ],
)
def test_annex_a1_by_hand(line, call, told):
    raw = [RawAnnotation("t", "", f"Subgoal 1: Do it.\n{line}")]
    (plan,) = export_rows(raw, "maths", "plan", "iterative")
    assert json.loads(plan)["messages"][2]["content"] == (
        f"The executed result for Subgoal 1 is{told and ' '}{told}. Should we stop planning?"
    )
    (ground,) = export_rows(raw, "maths", "ground", "iterative")
    assert json.loads(ground)["messages"][1]["content"] == call


def test_a_web_turn_and_a_question_answering_turn_by_hand():
    web = [RawAnnotation("t", "", "Subgoal 1: Open it. \nAction 1-1: R1 = CLICK(Env, QUERY: Open (it))")]
    (plan,) = export_rows(web, "web_agent", "plan", "iterative")
    assert json.loads(plan)["messages"][2]["content"] == "We have already open it.. Should we stop planning?"
    text = (
        "Subgoal 1: A.\nAction 1-1: R1 = QA([R0], Question: a?) = 330 metres. \n\nSubgoal 2: B.\nAction 2-1: R2 = "
        "QA([R1], Question: b?) = 96 metres. \n\nSubgoal 3: Compare the heights.\nAction 3-1: R3 = Calculator(R1 > R2) "
        "= Yes. "
    )
    (ground,) = export_rows([RawAnnotation("t", "", text)], "complex_qa", "ground", "iterative")
    assert json.loads(ground)["messages"][4]["content"] == (  # annex A5
        "Subgoal to be grounded: Subgoal 3: Compare the heights. The grounding could be based on the following "
        "results: The execution result for Subgoal 1 is 330 metres. The execution result for Subgoal 2 is 96 metres.\n"
    )
