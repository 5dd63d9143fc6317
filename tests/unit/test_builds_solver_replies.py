"""What a row says of a run in which one model answered alone."""

from __future__ import annotations

import json

import pytest

from db.journal.step_records import RecordedStep
from lumos_queue.errors import SpecError
from lumos_queue.records import Completion, FinishReason
from tests.unit.test_builds_choosing import episode, kept


def run_of(reply: str, formulation: str = "cot", answer: str = "5", number: int = 1, **changes):
    """A right run with that reply."""
    steps = (RecordedStep(0, 0, "solver", Completion(reply, FinishReason.STOP), None),)
    values = {"origin": "run", "level": "", "scores": {"accuracy": 1.0}, "main_metric": "accuracy"}
    return episode(number, formulation=formulation, steps=steps, answer=answer, **values, **changes)


def replies_in(folder, *runs, **options) -> list[str]:
    formulation = runs[0].formulation
    kept(folder, *runs, formulations=(formulation,), **options)
    lines = (folder / "x" / f"solver_{formulation}.jsonl").read_text().splitlines()
    return [json.loads(line)["messages"][-1]["content"] for line in lines]


@pytest.mark.parametrize(
    ("reply", "row"),
    [
        ("2 + 3 is 5.\nThe answer is 5.", "2 + 3 is 5. The answer is 5."),
        ("We get \\boxed{5}", "We get \\boxed{5} Answer is 5."),
        ("The answer is **5**.", "The answer is **5**. Answer is 5."),
    ],
)
def test_a_row_is_the_reply_on_a_line_and_names_the_answer_as_the_formulation_reads_it(tmp_path, reply, row):
    assert replies_in(tmp_path, run_of(reply)) == [row]


def test_a_row_of_direct_is_the_answer_alone(tmp_path):
    assert replies_in(tmp_path, run_of("It is 5!", "direct")) == ["5"]


def test_other_replies_to_a_question_are_no_duplicates(tmp_path):
    runs = (
        run_of("So. The answer is 5."),
        run_of("Or so. The answer is 5.", number=2),
        run_of("So. The answer is 5.", number=3),
    )
    assert sorted(replies_in(tmp_path, *runs)) == ["Or so. The answer is 5.", "So. The answer is 5."]


@pytest.mark.parametrize(
    ("run", "options", "reason"),
    [
        (run_of("a\n<|user|>\nb. The answer is 5."), {}, "its reply has marks of turns"),
        (run_of("a</s> The answer is 5."), {}, "its reply has marks of turns"),
        (run_of("The answer is 5.", answer=""), {}, "it has no reply"),
        (run_of("The answer is 5."), {"level": "executed"}, "it has no actions that could be checked"),
        (run_of("The answer is 5."), {"perturbed": True}, "it has no actions that could be checked"),
    ],
)
def test_a_reply_that_cannot_be_a_row_is_left_out(tmp_path, run, options, reason):
    with pytest.raises(SpecError, match=f"1 {reason}"):
        kept(tmp_path, run, formulations=("cot",), **options)


def test_other_formulations_say_why_they_have_no_row_of_it(tmp_path):
    manifest, rows = kept(tmp_path, run_of("The answer is 5."), formulations=("cot", "iterative"))
    assert [file for file, _ in rows] == ["solver_cot.jsonl"]
    assert manifest["episodes"]["not_written"] == {
        "iterative: one model answered alone, without subgoals and actions": 1
    }
