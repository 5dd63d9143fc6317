"""Which of an episode's calls a policy learns from."""

from __future__ import annotations

from types import SimpleNamespace

from lumos_queue.commands import Ask
from lumos_queue.jobs import rollouts
from lumos_queue.records import Completion, FinishReason


def test_a_policy_learns_from_what_it_replied_and_not_from_what_it_thought(monkeypatch):
    calls = [
        (Ask("planner", "a"), Completion("x", FinishReason.STOP, reasoning="SECRET", message="SECRET")),
        (Ask("planner", "b"), Completion("y", FinishReason.LENGTH)),
        (Ask("planner", "c"), Completion("", FinishReason.LENGTH, reasoning="SECRET")),
        (Ask("planner", "d"), Completion("", FinishReason.EMPTY)),
        (Ask("planner", "e"), Completion("z", FinishReason.GIVEN)),
        (Ask("judge", "f"), Completion("z", FinishReason.STOP)),
    ]
    monkeypatch.setattr(rollouts, "replay_asks", lambda *_: calls)
    evaluate = SimpleNamespace(infer=SimpleNamespace(generator=lambda: None, agent=None))
    found = rollouts._asks(evaluate, SimpleNamespace(steps=[], task=None), ["planner"])
    assert [(one["prompt"], one["reply"], one["ended"]) for one in found] == [("a", "x", True), ("b", "y", False)]
    assert "SECRET" not in str(found)
