"""PRM800K by a teacher: the prompt offers Code, and what the teacher writes is run in the sandbox before it counts."""

from __future__ import annotations

import json

import pytest

from lumos_queue.cli.main import main
from tests.fake_endpoint import FakeEndpoint

ROW = {
    "labeler": "x",
    "label": {"steps": [], "finish_reason": "solution"},
    "question": {
        "problem": "How many of the numbers from 1 to 20 are\n divisible by 4?",
        "ground_truth_answer": "5",
        "ground_truth_solution": "  They are\n\n  4,  8, 12,\t16 and 20, so there are $\\boxed{5}$.",
    },
}
COUNTED = "Subgoal 1: Count the multiples of 4.\nAction 1-1: R1 = Code({code}) = {result}"
MULTIPLES = "len([n for n in range(1, 21) if n % 4 == 0])"


@pytest.fixture
def convert(tmp_path, monkeypatch, capsys):
    """Convert the row with a teacher that replies so; returns the report and what the teacher was sent."""
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))
    path = tmp_path / "train.jsonl"
    path.write_text(json.dumps(ROW) + "\n")

    def run(code: str, result: str) -> tuple[dict, str]:
        with FakeEndpoint(lambda prompt: COUNTED.format(code=code, result=result), keep_bodies=True) as server:
            arguments = ("convert", "prm800k", "--data", str(path), "--teacher", server.chat, "--reasks", "0", "--json")
            assert main(arguments) == 0
        out = capsys.readouterr().out.splitlines()[-1]
        return json.loads(out), server.bodies[0]["messages"][-1]["content"]

    return run


def verdicts(report: dict) -> list[str]:
    return [one["name"] for one in report["verdicts"]]


def test_code_is_offered_run_and_accepted(convert, tmp_path):
    report, asked = convert(MULTIPLES, "5")
    assert "'SolveInequality', 'Code', and 'Define'" in asked and "= Code(If " in asked
    assert report["levels"] == {"executed": 1} and verdicts(report) == []


def test_the_plan_is_sent_byte_for_byte(convert):
    _, asked = convert(MULTIPLES, "5")
    assert asked.endswith(f"Natural language plan: {ROW['question']['ground_truth_solution']}")


@pytest.mark.parametrize(
    ("code", "result", "found"),
    [
        (MULTIPLES, "6", "result differs"),
        ("open('/etc/passwd').read()", "5", "invalid result"),
        ("__import__('os').system('id')", "5", "invalid result"),
        ("while True: pass", "5", "invalid result"),
    ],
)
def test_what_code_does_not_give_is_no_result(convert, code, result, found):
    report, _ = convert(code, result)
    assert found in verdicts(report) and report["accepted"]["both"] == 0
