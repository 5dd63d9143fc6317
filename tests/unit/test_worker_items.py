"""An item from its claim to its result: what a failure means for it, and what is stored. With scripted jobs."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import Any

import pytest

from db.engine.rows.steps import NewAttempt
from db.journal.buffer import Buffer
from db.kinds.states import JobState
from db.queue.claims import ClaimedItem
from lumos_queue.commands import Ask, Step
from lumos_queue.episode import Diverged
from lumos_queue.errors import InfrastructureError, NeedsAttention, PluginFault, RowFailed, SpecError
from lumos_queue.jobs.base import ItemResult, Work
from lumos_queue.records import Completion, Ending, Outcome, Score, Task
from workers.item import MAX_FAILURES, MAX_ROUNDS, ROUND_SECONDS, ItemRunner, stop_for

TASK = Task("wordmath", "data", "0", "How many?", {})
ITEM = ClaimedItem(11, 3, 1, 0, 0, 2, TASK, 4, "old", ())
WINDOW = replace(ITEM, task=None)
ANSWERED = ItemResult(Outcome("7", Ending.ANSWERED), (Score("accuracy", 1.0),))


class ScriptedJob:
    """A job whose items do what a function does."""

    def __init__(self, do):
        self._do = do
        self.calls: list[tuple[Work, Any]] = []

    def prompt_prefixes(self) -> dict[str, str]:
        return {"planner": "head"}

    async def run(self, work: Work, journal: Any, context: Any) -> ItemResult:
        self.calls.append((work, context))
        result = self._do(journal)
        if isinstance(result, Exception):
            raise result
        return result


def make_runner(result: Any) -> tuple[ItemRunner, ScriptedJob, Buffer]:
    job, buffer = ScriptedJob(result if callable(result) else lambda journal: result), Buffer()
    return ItemRunner(job, "the context", buffer, "new"), job, buffer


def run(result: Any, item: ClaimedItem = ITEM):
    runner, _, _ = make_runner(result)
    return asyncio.run(runner.run(item))


def test_a_job_gets_the_item_and_what_was_opened_for_the_slice():
    runner, job, buffer = make_runner(ANSWERED)
    finished = asyncio.run(runner.run(ITEM))
    assert job.calls == [(Work(3, 2, TASK, 11), "the context")]
    assert (finished.item, finished.outcome, finished.scores) == (11, ANSWERED.outcome, ANSWERED.scores)
    assert (finished.attempt, finished.stop) == (4, None) and 0 <= finished.seconds < 600
    assert finished.figures is not None and finished.totals == finished.figures.totals
    assert buffer.size == 0


def test_all_parts_of_a_result_are_stored():
    parts = {
        "output": {"a": 1},
        "verdicts": ("verdict",),
        "level": "checked",
        "training_steps": ("step",),
        "feedback_steps": ("feedback",),
        "models": ("model",),
    }
    finished = run(ItemResult(**parts), WINDOW)
    assert {name: getattr(finished, name) for name in parts} == parts and finished.outcome is None


def test_a_result_that_pauses_its_job_says_which_item_and_why_on_one_line():
    finished = run(replace(ANSWERED, pause="approve\n the \0 plan"))
    assert finished.stop == stop_for(ITEM, JobState.PAUSED, "approve the \0 plan")
    assert (finished.stop.state, finished.stop.reason) == ("paused", "item 3: approve the \ufffd plan")


def test_recorded_steps_of_an_earlier_holder_come_first(monkeypatch):
    recalled = []
    monkeypatch.setattr("workers.item.EpisodeJournal.recall", lambda self, step: recalled.append(step))
    run(ANSWERED, replace(ITEM, steps=("first", "second")))
    assert recalled == ["first", "second"]


def test_code_that_goes_another_way_begins_a_new_attempt_with_its_own_version(caplog):
    def diverge_once(journal: Any):
        if journal.attempt == 4:
            return Diverged("another prompt")
        journal.record(Step(0, 0, Ask("planner", "p"), Completion("r", "stop", 5, 3)))
        return ANSWERED

    runner, job, buffer = make_runner(diverge_once)
    finished = asyncio.run(runner.run(ITEM))
    assert finished.attempt == 5 and len(job.calls) == 2 and job.calls[0] == job.calls[1]
    assert finished.totals.calls == 1
    rows = buffer.take()[0]
    assert rows[NewAttempt] == [NewAttempt(11, 5, "new")]
    assert caplog.messages == ["item 11 begins a new attempt: another prompt"]


@pytest.mark.parametrize(("failures", "seconds"), list(enumerate(ROUND_SECONDS)))
def test_an_item_that_a_server_fails_is_retried_after_longer_and_longer_waits(failures, seconds):
    with pytest.raises(RowFailed) as failure:
        run(RowFailed("host answered 500"), replace(ITEM, failures=failures))
    assert (str(failure.value), failure.value.retry_after) == ("host answered 500", seconds)


def test_an_item_that_a_server_fails_in_each_round_ends_with_the_reason():
    finished = run(RowFailed("host answered \0 500"), replace(ITEM, failures=MAX_ROUNDS - 1))
    assert finished.outcome == Outcome(
        None,
        Ending.INFRA_ERROR,
        f"failed {MAX_ROUNDS} times while the server answered others; the last: host answered \ufffd 500",
    )
    assert MAX_ROUNDS == 5


@pytest.mark.parametrize("failures", [4, 5, 100])
def test_an_item_without_a_task_is_retried_for_ever(failures):
    with pytest.raises(RowFailed) as failure:
        run(RowFailed("host answered 500"), replace(WINDOW, failures=failures))
    assert failure.value.retry_after == 60.0


@pytest.mark.parametrize("item", [ITEM, WINDOW])
def test_a_failure_of_infrastructure_is_passed_on_unchanged(item, caplog):
    error = InfrastructureError("away", 7.0)
    with pytest.raises(InfrastructureError) as failure:
        run(error, item)
    assert failure.value is error and caplog.messages == []


@pytest.mark.parametrize("error", [SpecError("no file"), NeedsAttention("approve")])
def test_an_item_without_a_task_passes_on_what_stops_its_job_and_an_episode_ends_with_it(error):
    with pytest.raises(type(error)) as failure:
        run(error, WINDOW)
    assert failure.value is error
    outcome = run(error).outcome
    assert outcome.ending == Ending.INFRA_ERROR and outcome.message.startswith(f"{type(error).__name__}: {error}")


def test_an_internal_error_ends_an_episode_and_is_logged_once_with_a_traceback(caplog):
    runner, _, _ = make_runner(lambda journal: 1 / 0)
    with caplog.at_level(logging.ERROR, "workers.item"):
        first = asyncio.run(runner.run(ITEM))
        second = asyncio.run(runner.run(replace(ITEM, id=12, ordinal=4)))
    assert first.outcome == second.outcome and first.outcome.ending == Ending.INFRA_ERROR
    assert first.outcome.message.startswith("ZeroDivisionError: division by zero (test_worker_items.py, line ")
    (record,) = caplog.records
    assert record.getMessage() == f"item 3: {first.outcome.message}" and record.exc_info


def test_a_fault_of_a_plugin_is_its_own_words_without_a_traceback(caplog):
    outcome = run(PluginFault("tool x returned no text \0")).outcome
    assert outcome == Outcome(None, Ending.INFRA_ERROR, "tool x returned no text \ufffd")
    (record,) = caplog.records
    assert record.getMessage() == "item 3: tool x returned no text \ufffd" and not record.exc_info


@pytest.mark.parametrize("failures", [0, MAX_FAILURES - 2])
def test_an_item_without_a_task_that_meets_an_internal_error_is_tried_again(failures):
    """However often it was claimed: a window of a fit is given back whenever its worker stops."""
    with pytest.raises(RowFailed, match=r"^tool x broke$") as failure:
        run(PluginFault("tool x broke"), replace(WINDOW, claim=9, failures=failures))
    assert isinstance(failure.value.__cause__, PluginFault)


@pytest.mark.parametrize("failures", [MAX_FAILURES - 1, MAX_FAILURES])
def test_the_job_of_an_item_without_a_task_fails_at_its_third_internal_error(failures):
    with pytest.raises(SpecError, match=r"^tool x broke$"):
        run(PluginFault("tool x broke"), replace(WINDOW, failures=failures))
    assert MAX_FAILURES == 3
