"""ReWOO's planner data as a source: plans with calls and without results. The rows are our own, in their layout."""

from __future__ import annotations

import json

import pytest

from lumos_queue.benchmarks.registry import open_source
from lumos_queue.builds.folder import find_build
from lumos_queue.cli.main import main
from lumos_queue.errors import BadRow
from lumos_queue.notation import write_annotation
from lumos_queue.prompts.conversations import read_conversations
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.settings import read_settings
from tests.fake_endpoint import FakeEndpoint

INSTRUCTION = "Make a plan for the question with the tools Wikipedia[input] and LLM[input]."
PLAN = """Plan: Find the book on the Rhine.
#E1 = Wikipedia[Rhine (book)]
Plan: Find out who wrote the book, using #E1.
#E2 = LLM[Who wrote the book? Given context: #E1]
Plan: Find out in which year the writer was born.
#E3 = Wikipedia[#E2]
#E4 = LLM[When was #E2 born? Given context: #E3]
Plan: Add ten years.
#E5 = Calculator[#E4 + 10]"""
ANNOTATED = """Subgoal 1: Find the book on the Rhine.
Action 1-1: R1 = KnowledgeQuery(Rhine (book))
Action 1-2: R2 = ParagraphRetrieve(R1, Query: Who wrote the book?)

Subgoal 2: Find out who wrote the book, using the result of Subgoal 1.
Action 2-1: R3 = QA([R2], Question: Who wrote the book?)

Subgoal 3: Find out in which year the writer was born.
Action 3-1: R4 = KnowledgeQuery(R3)
Action 3-2: R5 = ParagraphRetrieve(R4, Query: In which year was the writer ten?)
Action 3-3: R6 = QA([R3, R5], Question: When was R3 born?)

Subgoal 4: Add ten years.
Action 4-1: R7 = Calculator(R6 + 10)"""
ROW = {"instruction": INSTRUCTION, "input": "In which year was the writer ten?", "output": PLAN}


@pytest.fixture
def read(tmp_path):
    """The rows of a file of such objects."""

    def rows(*records: dict):
        path = tmp_path / "planner.json"
        path.write_text(json.dumps(list(records)))
        return list(open_source("rewoo").teaching.read(path, "train"))

    return rows


def test_plans_become_subgoals_and_calls_actions(read):
    (task,) = read(ROW)
    source = open_source("rewoo")
    assert (task.question, source.rationale(task)) == (ROW["input"], PLAN)
    assert write_annotation(source.gold(task).steps) == ANNOTATED


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        ("I do not know.", "unreadable_plan"),
        ("Plan: Think.", "unreadable_plan"),
        ("", "no row"),
        ("Plan: Think.\n#E1 = LLM[x] and more", "unreadable_plan"),
        ("Plan:\n#E1 = LLM[x]", "unreadable_plan"),
        ("Plan: Send it.\n#E1 = Mail[x]", "unknown_tool"),
        ("Plan: Ask.\n#E1 = LLM[Who is #E2?]", "undefined_step"),
        ("Plan: Ask #E3.\n#E1 = LLM[Who?]", "undefined_step"),
        ("Plan: Ask R2.\n#E1 = LLM[Who?]", "unwritable"),
        ("Plan: Ask.\n#E1 = LLM[Who :-) is?]", "unwritable"),
    ],
)
def test_what_a_rule_cannot_read_is_named(read, plan, reason):
    (task,) = read({**ROW, "output": plan})
    if isinstance(task, BadRow):
        assert reason == "no row" and task.leave_out
        return
    with pytest.raises(NotConvertible, match=f"^{reason}$"):
        open_source("rewoo").gold(task)


def test_the_row_of_table_2_runs_once_its_file_is_given(read, tmp_path, monkeypatch, capsys):
    """From the file to training text of both modules, and an agent that writes as that text does."""
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))

    def lumos(*arguments: str) -> dict:
        assert main((*arguments, "--json")) == 0
        return json.loads(capsys.readouterr().out.splitlines()[-1])

    (row,) = lumos("papers", "2/ReWOO-open-data/strategyqa")["tables"][0]["rows"]
    assert row["published"] == "≈57" and "planner_instruction_tuning_2k" in row["status"]
    assert "lumos convert rewoo" in row["status"]
    read(
        ROW, {**ROW, "input": "Where?", "output": "Plan: Ask.\n#E1 = LLM[Where is it?]"}, {**ROW, "output": "No plan."}
    )
    report = lumos("convert", "rewoo", "--data", str(tmp_path / "planner.json"), "--deterministic")
    assert report["accepted"] == {"planner": 2, "grounder": 2, "both": 2} and report["rows_in"] == 3
    lumos("dataset", "build", "plans", "--where", f"job={report['job']}", "--formulations", "one-pass,iterative")
    out, texts = find_build(read_settings(), "plans"), {}
    for module in ("planner", "grounder"):
        conversations = list(read_conversations(out / f"{module}_one-pass.jsonl"))
        texts[module] = {one.turns[0].content: one.turns[1].content for one in conversations}
        assert len(conversations) == 2
        assert not any(
            read_conversations(path) for path in out.glob(f"{module}_iterative.jsonl") if path.stat().st_size
        )
    assert "Subgoal 2: Find out who wrote the book, using the result of Subgoal 1." in str(texts["planner"].values())
    assert "R6 = QA([R3, R5], Question: When was R3 born?); R7 = Calculator(R6 + 10)" in str(texts["grounder"].values())

    questions = tmp_path / "train.json"
    questions.write_text(
        json.dumps(
            [
                {
                    "qid": f"q{number}",
                    "question": f"Is number {number} there?",
                    "answer": True,
                    "facts": ["It is there."],
                    "decomposition": ["Is it there?"],
                    "evidence": [[["operation"]]],
                    "term": "it",
                    "description": "",
                }
                for number in range(300)
            ]
        )
    )
    said = {"planner": "Subgoal 1: Ask.", "grounder": "R1 = QA([], Question: Is it there?)"}
    with (
        FakeEndpoint(lambda prompt: said["grounder" if "Subgoals to be grounded" in prompt else "planner"]) as agent,
        FakeEndpoint(lambda prompt: "Answer: yes") as answers,
    ):
        report = lumos(
            "papers",
            "2/ReWOO-open-data/strategyqa",
            "--run",
            "--any-weights",
            "--planner",
            agent.tgi,
            "--grounder",
            agent.tgi,
            "--role",
            f"qa={answers.chat}",
            "--data",
            str(questions),
            "--published",
        )
    assert report["endings"] == {"answered": 300} and report["value"] == 1.0
    (row,) = lumos("papers", "2/ReWOO-open-data/strategyqa")["tables"][0]["rows"]
    assert row["ours"]["n"] == row["published_n"] == "300 × 3" and row["ours"]["value"] == 100.0
