"""Stages of an episode: each subgoal with the replies and actions that belong to it."""

from __future__ import annotations

from db.journal.step_records import RecordedStep
from lumos_queue.builds.stages import matches_gold_step, stages_of
from lumos_queue.commands import Result
from lumos_queue.records import Action, AnnotatedSubgoal, Completion, Execution, Subgoal


def recorded(*parts: tuple[Subgoal | Action | None, Result, str]) -> list[RecordedStep]:
    return [
        RecordedStep(position, 0, "", result, detail, role) for position, (detail, result, role) in enumerate(parts)
    ]


def test_the_action_that_makes_the_answer_belongs_to_no_stage():
    """`Output = Conclude([R1])`: no grounder wrote it, so it is neither the stage's value nor what a judge is shown."""
    subgoal, asked = Subgoal(1, "Subgoal 1: Which city is it?"), Action(("R1",), "QA", "[], Which city is it?")
    conclusion = Action(("Output",), "Conclude", "[R1]", "Output = Conclude([R1])")
    (stage,) = stages_of(
        recorded(
            (None, Completion("Subgoal 1: Which city is it?", "stop"), "planner"),
            (subgoal, None, ""),
            (None, Completion("R1 = QA([], Which city is it?)", "stop"), "grounder"),
            (asked, Execution("ok", "Bern", ({"text": "Bern"},)), ""),
            (None, Completion("Yes, I will stop planning.", "stop"), "planner"),
            (conclusion, Execution("ok", "yes", ({"text": "yes"},)), ""),
        )
    )
    assert stage.value == "Bern" and stage.executions[-1][0] == asked
    assert "Conclude" not in stage.lines() and "Conclude" not in stage.grounding
    assert matches_gold_step(stage, AnnotatedSubgoal(subgoal, (asked,), ("Bern",)))
