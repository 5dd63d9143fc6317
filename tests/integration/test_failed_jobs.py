"""A training job that fails or pauses by itself: it says why, nobody works on it, and a person can go on with it."""

from __future__ import annotations

import re

import pytest

from db.kinds.states import JobState
from db.queries.jobs import get_job
from db.queue.batch import Batch, ReturnedItem
from db.queue.claims import ClaimRequest
from db.queue.commit import commit
from db.queue.fence import beat
from db.queue.figures import progress
from db.queue.job_changes import cancel, pause, remove, resume
from db.queue.job_stops import JobStop
from db.queue.schedule import back_off, begin_work, find_idle_jobs, runnable_jobs
from lumos_queue.errors import DivergedFit, InfrastructureError, SpecError
from lumos_queue.jobs.base import ItemResult, Work
from lumos_queue.reports.retry_reasons import read_retry_reason
from tests.claims import claim, holder, new_job
from tests.integration.test_slices import Doing, run
from tests.integration.test_training_rows import steps, train_job
from tests.stored_rows import state
from workers.item import MAX_FAILURES
from workers.run import _note_stop
from workers.slice_result import SliceResult


def row_of(database, job: str):
    with database.engine.connect() as connection:
        return get_job(connection, job)


def items(database, job: str) -> dict[str, int]:
    with database.engine.connect() as connection:
        return progress(connection, job)


def fails_with(error: Exception, at: int = 1):
    async def do(work: Work, journal) -> ItemResult:
        if work.ordinal == at:
            raise error
        return ItemResult(output={})

    return do


@pytest.mark.parametrize(
    ("error", "stopped"),
    [(SpecError("No GPU:\nthere is\0 none."), "failed"), (DivergedFit("the loss\nis NaN"), "paused")],
    ids=["spec", "diverged"],
)
def test_an_item_stops_its_job_and_says_why(database, error, stopped):
    job = train_job(database)
    doing = Doing(fails_with(error), concurrency=1)
    run(database, job, doing)
    row = row_of(database, job)
    assert (row.state, doing.ran) == (stopped, [0, 1])
    assert row.waiting in ("item 1: No GPU: there is\ufffd none.", "item 1: the loss is NaN")
    assert items(database, job) == {"done": 1, "owed": 2}
    assert runnable_jobs(database, ["llm", "cpu", "gpu"]) == [] and find_idle_jobs(database) == []
    assert beat(database, holder(database, job).session, [job], {}).states == {job: stopped}
    result = SliceResult(finished=1)
    _note_stop(database, job, result)
    assert result.has_failed == (stopped == "failed")
    words = f"failed: job: {row.waiting.rstrip('.')}; 1 item finished"
    assert str(result) == (
        words if result.has_failed else f"1 item finished; stopped: the job is paused: {row.waiting}"
    )
    # What others say of it later changes nothing.
    back_off(database, job, "endpoint: away", 5.0)
    assert not begin_work(database, job, ())
    pause(database, job)
    assert row_of(database, job).waiting == row.waiting and state(database, job) == stopped
    # Once the cause is gone.
    assert resume(database, job) == "queued"
    assert row_of(database, job).waiting == ""
    again = Doing(fails_with(error, at=-1), concurrency=1)
    run(database, job, again)
    assert again.ran == [1, 2] and items(database, job) == {"done": 3}


def test_a_failed_job_can_be_cancelled_and_removed(database):
    jobs = [train_job(database, digest=one * 64) for one in "ab"]
    for job in jobs:
        run(database, job, Doing(fails_with(SpecError("no"), at=0), concurrency=1))
        assert state(database, job) == "failed"
    assert cancel(database, jobs[0]) == "cancelled"
    assert items(database, jobs[0]) == {"cancelled": 3}
    for job in jobs:
        remove(database, job)
        with pytest.raises(SpecError):
            row_of(database, job)


def test_an_accepted_item_may_pause_its_job(database):
    job = train_job(database)

    async def do(work: Work, journal) -> ItemResult:
        return ItemResult(
            output={},
            training_steps=steps(work.ordinal + 1, work.ordinal + 1),
            pause="the development loss rose" if work.ordinal == 1 else "",
        )

    doing = Doing(do, concurrency=1)
    run(database, job, doing)
    row = row_of(database, job)
    assert (row.state, row.waiting, doing.ran) == ("paused", "item 1: the development loss rose", [0, 1])
    assert items(database, job) == {"done": 2, "owed": 1}
    resume(database, job)
    run(database, job, doing)
    assert doing.ran == [0, 1, 2] and items(database, job) == {"done": 3}


def test_a_fault_of_ours_is_tried_a_few_times_and_then_fails_the_job(database):
    job = train_job(database)
    doing = Doing(fails_with(KeyError("oops"), at=0), concurrency=1)
    for tries in range(1, MAX_FAILURES + 1):
        assert state(database, job) in ("queued", "running")
        resume(database, job)  # due at once
        run(database, job, doing)
        assert doing.ran == [0] * tries
    row = row_of(database, job)
    assert row.state == "failed"
    assert re.fullmatch(r"item 0: KeyError: 'oops' \(test_failed_jobs\.py, line \d+\)", row.waiting)
    assert items(database, job) == {"owed": 3}


def test_infrastructure_is_waited_for_however_often_it_fails(database):
    job = train_job(database)
    doing = Doing(fails_with(InfrastructureError("killed by signal 9"), at=0), concurrency=1)
    for _ in range(MAX_FAILURES + 2):
        resume(database, job)
        run(database, job, doing)
    assert state(database, job) in ("queued", "running") and len(doing.ran) == MAX_FAILURES + 2


def test_an_error_without_words_is_known_by_its_name(database):
    job = train_job(database)
    run(database, job, Doing(fails_with(InfrastructureError(" "), at=0), concurrency=1))
    with database.engine.connect() as connection:
        assert read_retry_reason(connection, [job])[job].reason == "InfrastructureError"


def test_an_episode_that_meets_a_fault_does_not_stop_its_job(database):
    job = new_job(database, tasks=3)

    async def do(work: Work, journal) -> None:
        if work.ordinal == 1:
            raise SpecError("this task is wrong")

    run(database, job, Doing(do))
    assert items(database, job) == {"done": 3} and state(database, job) != "failed"


def test_the_first_reason_stays_and_only_a_holder_can_stop_a_job(database):
    job = new_job(database, tasks=2, kind="train")
    who = holder(database, job)
    first, second = claim(database, who, 2)

    def give_back(item: int, claimed: int, reason: str) -> list:
        back = ReturnedItem(item, reason, stop=JobStop(JobState.FAILED, reason))
        return commit(database, who, Batch({item: claimed}, given_back=[back]), ClaimRequest(1))

    give_back(first.id, first.claim - 1, "of an earlier claim")
    assert state(database, job) != "failed"
    assert give_back(first.id, first.claim, "the reason") == [], "a job that is stopped gives no more items"
    give_back(second.id, second.claim, "a later reason")
    assert row_of(database, job).waiting == "the reason"
