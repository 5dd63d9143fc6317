"""What `lumos show --json` says of a step's place in a tree, and of where a tool's answer is from."""

from __future__ import annotations

from types import SimpleNamespace

from db.journal.step_records import RecordedStep
from lumos_queue.cli.trajectory import describe_candidates
from lumos_queue.commands import ROOT, WITHIN, Call
from lumos_queue.records import Action, Candidate, Completion, Execution, Subgoal
from lumos_queue.reports.episode_values import EpisodeReport, Step
from lumos_queue.reports.json_values import as_json
from lumos_queue.reports.trajectory import describe_trajectory

NONE = SimpleNamespace(
    episode=SimpleNamespace(
        sample=0, formulation="f", attempt=1, ending="answered", answer="1", message="", calls=1, origin="run", level=""
    ),
    task=SimpleNamespace(benchmark="b", row="1", question="q", gold=None),
    job=SimpleNamespace(id="j", spec={}),
    item=SimpleNamespace(ordinal=1),
    scores=(),
    parent=None,
    verdicts=(),
    earlier=(),
)


def shown(*steps: RecordedStep, formulation: str = "f") -> list[Step]:
    return [*described(*steps, formulation=formulation).steps]


def described(*steps: RecordedStep, formulation: str = "f") -> EpisodeReport:
    episode = SimpleNamespace(**vars(NONE.episode) | {"formulation": formulation})
    return describe_trajectory(SimpleNamespace(**vars(NONE) | {"episode": episode}, steps=steps))


def test_parents_and_provenance_are_shown_where_there_are_any_and_nowhere_else():
    action, seen = Action((), "look", "{}", "look"), Execution("ok", "seen")
    tree = shown(
        RecordedStep(0, 0, "c", Completion("r", "stop"), None, "policy", "p", ROOT),
        RecordedStep(1, 0, "c", seen, action, parent=0),
        RecordedStep(1, WITHIN, "c", Execution("ok", "seen", provenance="recorded"), Call("api", {})),
        RecordedStep(1, WITHIN + 1, "c", seen, Call("api", {})),
    )
    assert [as_json(step).get("parent") for step in tree] == [ROOT, 0, None, None]
    assert [as_json(step).get("provenance") for step in tree] == [None, None, "recorded", None]
    straight = shown(
        RecordedStep(0, 0, "c", Completion("r", "stop"), None, "planner", "p"),
        RecordedStep(1, 0, "c", None, Subgoal(1, "Subgoal 1: look.")),
        RecordedStep(2, 0, "c", seen, action),
    )
    assert not any({"parent", "provenance"} & as_json(step).keys() for step in straight)


def test_candidates_are_shown_where_there_are_any():
    best = tuple(Candidate(f"plan {number},", -float(number)) for number in range(7))
    held, free = shown(
        RecordedStep(0, 0, "c", Completion("plan 0,", "stop", candidates=best), None, "planner", "p"),
        RecordedStep(1, 0, "c", Completion("plan 0,", "stop"), None, "planner", "p"),
    )
    assert as_json(held)["candidates"] == [{"text": one.text, "logprob": one.logprob} for one in best]
    assert "candidates" not in as_json(free)
    lines = describe_candidates(held.candidates or ())
    assert lines[1] == "candidate 2, log-probability -1.0000: plan 1,"
    assert len(lines) == 6 and lines[-1] == "2 more candidates: see --json"
    assert describe_candidates((held.candidates or ())[:1]) == ["candidate 1, log-probability -0.0000: plan 0,"]
