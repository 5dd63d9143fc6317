"""Which steps of a job its trackers get, and in which order. The trackers are scripted: they only keep what is sent."""

from __future__ import annotations

from dataclasses import asdict

from lumos_queue.jobs.train_trackers import _JobFeed, _track
from lumos_queue.records import FitPhase, FitProgress
from lumos_queue.training.trackers.messages import TrackedStep


class ScriptedFeed:
    def __init__(self) -> None:
        self.steps: list[TrackedStep] = []

    def send(self, steps) -> None:
        self.steps += steps

    def numbers(self, fit: str = "") -> list[int]:
        return [step.step for step in self.steps if step.fit == fit]


def report(step: int, fit: str = "", is_step: bool = True, **figures: float) -> dict:
    progress = FitProgress(phase=FitPhase.TRAINING, fit=fit, step=step, loss=1.0, **figures)
    return {"progress": asdict(progress)} | ({"tokens": 7} if is_step else {})


def accepted(*numbers: int) -> list[TrackedStep]:
    return [_track({"fit": "", "step": number, "loss": 1.0, "rate": None, "tokens": 7}) for number in numbers]


def test_a_step_after_a_lost_report_waits_until_both_are_accepted():
    scripted = ScriptedFeed()
    feed = _JobFeed(scripted)
    feed.send_accepted(accepted(1, 2))
    assert not feed.lacks_steps
    for step in (3, 5, 6):
        feed.note(report(step))
    assert scripted.numbers() == [1, 2, 3] and feed.lacks_steps
    feed.send_accepted(accepted(1, 2, 3, 4, 5, 6))
    feed.note(report(7))
    assert scripted.numbers() == [1, 2, 3, 4, 5, 6, 7] and not feed.lacks_steps


def test_a_step_that_is_repeated_after_a_restart_is_sent_once():
    scripted = ScriptedFeed()
    feed = _JobFeed(scripted)
    feed.send_accepted([])
    for step in (1, 2, 2, 1, 2, 3):
        feed.note(report(step))
    feed.note(report(4, is_step=False))
    feed.note(report(1, fit="other"))
    assert scripted.numbers() == [1, 2, 3] and scripted.numbers("other") == [1] and not feed.lacks_steps


def test_a_development_loss_is_sent_with_one_step():
    scripted = ScriptedFeed()
    feed = _JobFeed(scripted)
    for step, loss in ((1, 2.0), (2, 2.0), (3, 1.5)):
        feed.note(report(step, dev_loss=loss))
    assert [step.figures.get("dev_loss") for step in scripted.steps] == [2.0, None, 1.5]
    assert scripted.steps[0].figures == {"loss": 1.0, "dev_loss": 2.0, "tokens": 7.0}
