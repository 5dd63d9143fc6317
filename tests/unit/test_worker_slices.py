"""One slice on SQLite: why it ends, how many items run at once, and what becomes of the items. With scripted jobs."""

from __future__ import annotations

import asyncio

import pytest
from sqlalchemy import insert, select, text, update

import workers.writer
from db.engine.connection import now
from db.models import Approval, EpisodeRow, Item, JobRow
from db.queue.claims import ClaimRequest
from db.queue.commit import commit
from db.queue.fence import Fenced
from lumos_queue.endpoints.admission import AdmissionControl
from lumos_queue.errors import (
    ApprovalPending,
    EndpointDown,
    InfrastructureError,
    NeedsAttention,
    NotSent,
    RowFailed,
    SpecError,
    UnclearFailure,
    WaitsForJob,
)
from lumos_queue.jobs.base import ItemResult, Work
from lumos_queue.records import Ending, Outcome
from tests.claims import claim, holder, new_job
from tests.integration.test_deaths import kill
from tests.scripted_slices import (
    EndRequest,
    ScriptedJob,
    answer,
    make_slice,
    open_session,
    raise_error,
    read_clock,
    read_items,
    run,
    run_job,
)
from workers.slice import REFUSED_SECONDS, UNDECIDED_SECONDS
from workers.stop_signal import StopSignal

URL = "tgi://a:1"


def read_job(database, job: str) -> tuple[str, str]:
    with database.engine.connect() as connection:
        return tuple(connection.execute(select(JobRow.state, JobRow.waiting).where(JobRow.id == job)).one())


def record_claims(monkeypatch) -> list[ClaimRequest]:
    """Return the requests for items, as the slice will have sent them."""
    requests: list[ClaimRequest] = []

    def record(database, holder, batch, request):
        if request.items:
            requests.append(request)
        return commit(database, holder, batch, request)

    monkeypatch.setattr(workers.writer, "commit", record)
    return requests


def test_a_slice_ends_when_nothing_is_due_and_each_end_of_an_item_is_announced(database):
    job, ends = new_job(database, tasks=5), []
    job_slice = run_job(database, job, ScriptedJob(answer), on_finish=lambda: ends.append(1))
    assert str(job_slice.result) == "5 items finished; stopped: nothing was due" and len(ends) == 5
    assert (job_slice.down, job_slice.awaited) == (None, None)
    assert read_items(database, job) == [("done",)] * 5


@pytest.mark.parametrize(
    ("own", "of_row", "of_settings", "expected"), [(2, 3, 4, 2), (0, 3, 4, 3), (0, 0, 4, 4), (0, 0, 1, 1)]
)
def test_as_many_items_run_at_once_as_the_job_or_else_its_row_or_the_settings_allow(
    database, own, of_row, of_settings, expected
):
    job = new_job(database, tasks=9)
    with database.writer.begin() as connection:
        connection.execute(update(JobRow).values(concurrency=of_row))

    async def wait(work: Work) -> None:
        await asyncio.sleep(0.01)

    script = ScriptedJob(wait, own)
    assert run_job(database, job, script, settings={"concurrency": of_settings}).result.finished == 9
    assert script.most_running == expected and script.ordinals == list(range(9))


def test_another_item_may_run_while_the_requests_of_all_wait_for_evidence(database):
    job = new_job(database, tasks=4)
    gate, other = AdmissionControl(URL, 8), AdmissionControl("tgi://b:1", 8)
    is_third = asyncio.Event()

    async def wait(work: Work) -> None:
        if work.ordinal < 2:
            (gate, other)[work.ordinal].suspended += 1
            await is_third.wait()
            (gate, other)[work.ordinal].suspended -= 1
        else:
            is_third.set()

    script = ScriptedJob(wait, 2)
    assert run_job(database, job, script, gate, other).result.finished == 4
    assert script.most_running == 3


def test_no_other_item_runs_beside_a_suspect_though_its_request_waits_for_evidence(database):
    job = new_job(database, tasks=2)
    dead = holder(database, job)
    claim(database, dead)
    kill(database, dead)
    gate = AdmissionControl(URL, 8)
    gate.suspended = 1

    async def wait(work: Work) -> None:
        await asyncio.sleep(0.05)

    script = ScriptedJob(wait)
    assert run_job(database, job, script, gate).result.finished >= 1
    assert script.most_running == 1


def test_a_process_that_works_on_suspects_claims_only_suspects(database, monkeypatch):
    job = new_job(database, tasks=4)
    dead = holder(database, job)
    claim(database, dead)
    kill(database, dead)
    requests = record_claims(monkeypatch)
    is_third = asyncio.Event()

    async def wait(work: Work) -> None:
        if work.ordinal == 0:
            await is_third.wait()
        elif work.ordinal == 2:
            is_third.set()

    script = ScriptedJob(wait)
    assert run_job(database, job, script).result.finished == 4 and script.most_running == 2
    assert next(request.suspects for request in requests if not request.busy) is False
    assert {request.suspects for request in requests if request.busy} == {True}


@pytest.mark.parametrize(
    ("reason", "why"),
    [
        ("another job's turn", "another job's turn"),
        ("", "the process is stopping"),
        (None, "the process is stopping"),
    ],
)
def test_a_slice_that_drains_finishes_what_runs_and_gives_back_the_rest(database, reason, why):
    job, ending = new_job(database, tasks=6), EndRequest(reason)

    async def drain(work: Work) -> None:
        ending.signal = StopSignal.DRAIN
        await asyncio.sleep(0.1)

    script = ScriptedJob(drain, 2)
    job_slice = run_job(database, job, script, should_end=ending)
    assert str(job_slice.result) == f"2 items finished; stopped: {why}" and script.ordinals == [0, 1]
    assert read_items(database, job, Item.state, Item.failures, Item.not_before_at) == [
        *[("done", 0, 0.0)] * 2,
        *[("owed", 0, 0.0)] * 4,
    ]


def test_a_slice_that_aborts_gives_back_what_runs(database):
    job, ending = new_job(database, tasks=3), EndRequest()

    async def abort(work: Work) -> None:
        ending.signal = StopSignal.ABORT
        await asyncio.sleep(1000)

    script = ScriptedJob(abort)
    job_slice = run_job(database, job, script, should_end=ending)
    assert str(job_slice.result) == "0 items finished; stopped: the process is stopping" and script.running == 0
    assert read_items(database, job, Item.state, Item.failures, Item.problem) == [("owed", 0, "")] * 3


@pytest.mark.parametrize("state", ["paused", "cancelling", "cancelled", "removed"])
def test_a_slice_whose_job_was_stopped_gives_back_what_runs(database, state):
    job = new_job(database, tasks=2)
    with open_session(database) as session:

        async def stop(work: Work) -> None:
            session.states[job] = state
            await asyncio.sleep(1000)

        job_slice = run(make_slice(session, job, ScriptedJob(stop)))
        assert not session.lost
        assert read_items(database, job) == [("owed",)] * 2
    assert str(job_slice.result) == f"0 items finished; stopped: the job is {state}"


def test_a_slice_of_a_process_that_was_declared_dead_writes_nothing_more(database):
    job = new_job(database, tasks=2)
    with open_session(database) as session:

        async def lose(work: Work) -> None:
            if work.ordinal:
                await asyncio.sleep(1000)
            session.declare_lost()

        script = ScriptedJob(lose)
        job_slice = make_slice(session, job, script)
        with pytest.raises(Fenced, match=r"^this process could not report to the database in time$"):
            run(job_slice)
        assert read_items(database, job) == [("claimed",)] * 2 and script.running == 0


def test_an_item_that_waits_for_a_person_is_not_due(database):
    job = new_job(database, tasks=2)

    async def ask_person(work: Work) -> None:
        with database.writer.begin() as connection:
            step = {"episode": work.item, "attempt": 1, "position": 0, "branch": 0, "command": b"x"}
            connection.execute(insert(Approval).values(**step, shown="a plan", note="", asked_at=now()))
        raise ApprovalPending("approve the plan")

    job_slice = run_job(database, job, ScriptedJob(ask_person))
    assert str(job_slice.result) == "0 items finished; stopped: nothing was due"
    assert read_items(database, job, Item.state, Item.failures) == [("awaiting", 0)] * 2


def test_an_item_whose_request_was_not_sent_is_due_at_once(database):
    job, ending = new_job(database, tasks=2), EndRequest()

    async def leave(work: Work) -> None:
        ending.signal = StopSignal.DRAIN
        raise NotSent("the slice ends")

    run_job(database, job, ScriptedJob(leave), should_end=ending)
    columns = (Item.state, Item.failures, Item.not_before_at, Item.problem)
    assert read_items(database, job, *columns) == [("owed", 0, 0.0, "")] * 2


def test_an_item_that_needs_another_job_stops_the_slice(database):
    job, error = new_job(database, tasks=3), WaitsForJob("for the rollouts", "abcdefgh")
    script = ScriptedJob(raise_error(error), 1)
    job_slice = run_job(database, job, script)
    assert job_slice.awaited is error and script.ordinals == [0]
    assert str(job_slice.result) == "0 items finished; stopped: an item stopped the job"
    assert read_items(database, job, Item.state, Item.problem) == [("owed", "")] * 3


@pytest.mark.parametrize(
    ("error", "problem", "failures", "seconds"),
    [
        (InfrastructureError("the quota is used up", 40.0), "the quota is used up", 0, 40.0),
        (InfrastructureError(" \n"), "InfrastructureError", 0, 2.0),
        (RowFailed("host answered 500"), "host answered 500", 1, 5.0),
    ],
)
def test_an_item_that_fails_is_retried_later_and_its_reason_is_stored(database, error, problem, failures, seconds):
    job = new_job(database, tasks=1)
    start = read_clock(database)
    job_slice = run_job(database, job, ScriptedJob(raise_error(error)))
    assert str(job_slice.result) == f"failed: 0 items finished, 1 failed: {problem}"
    ((state, reason, count, due),) = read_items(
        database, job, Item.state, Item.problem, Item.failures, Item.not_before_at
    )
    assert (state, reason, count) == ("owed", problem, failures)
    assert start + seconds <= due <= read_clock(database) + seconds


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (EndpointDown("host is down"), 0.0),
        (EndpointDown("host is down", status=503), 0.0),
        (EndpointDown("host refuses", status=401), REFUSED_SECONDS),
        (UnclearFailure("host answered 400", 400), UNDECIDED_SECONDS),
    ],
)
def test_an_outage_stops_the_slice_and_what_was_refused_waits(database, error, seconds):
    job = new_job(database, tasks=2)
    start = read_clock(database)
    job_slice = run_job(database, job, ScriptedJob(raise_error(error), 1))
    assert job_slice.down is not None and str(job_slice.down) == str(error)
    assert job_slice.down.status == error.status and job_slice.result.failures == 0
    ((due,), _) = read_items(database, job, Item.not_before_at)
    assert (start + seconds <= due <= read_clock(database) + seconds) if seconds else due == 0.0
    assert read_items(database, job, Item.state, Item.problem, Item.failures) == [("owed", "", 0)] * 2


def test_each_item_that_fails_is_counted_once(database):
    job = new_job(database, tasks=3)
    job_slice = run_job(database, job, ScriptedJob(raise_error(InfrastructureError("the quota is used up", 40.0))))
    assert str(job_slice.result) == "failed: 0 items finished, 3 failed: the quota is used up"


def test_an_outage_lets_running_items_end_and_begins_no_other(database):
    job = new_job(database, tasks=4)
    is_down = asyncio.Event()

    async def fail_first(work: Work) -> None:
        if work.ordinal == 0:
            is_down.set()
            raise EndpointDown("host is down", status=503)
        await is_down.wait()
        await asyncio.sleep(0.05)

    script = ScriptedJob(fail_first, 2)
    job_slice = run_job(database, job, script)
    assert job_slice.result.finished == 1 and script.ordinals == [0, 1] and job_slice.down is not None
    assert [state for (state,) in read_items(database, job)] == ["owed", "done", "owed", "owed"]


@pytest.mark.parametrize("error", [EndpointDown("host is down", status=503), WaitsForJob("for it", "abcdefgh")])
def test_items_that_were_claimed_ahead_do_not_begin_after_an_outage_or_a_stop(database, error):
    job = new_job(database, tasks=20)

    async def fail_at_eight(work: Work) -> None:
        if work.ordinal == 8:
            raise error

    script = ScriptedJob(fail_at_eight, 1)
    assert run_job(database, job, script).result.finished == 8 and script.ordinals == list(range(9))
    assert read_items(database, job) == [("done",)] * 8 + [("owed",)] * 12


@pytest.mark.parametrize(("error", "state"), [(SpecError("no\nfile"), "failed"), (NeedsAttention("approve"), "paused")])
def test_an_item_stops_its_job_with_the_reason(database, caplog, error, state):
    job = new_job(database, tasks=0, kind="train", windows=2)
    job_slice = run_job(database, job, ScriptedJob(raise_error(error), 1))
    assert str(job_slice.result) == "0 items finished; stopped: an item stopped the job"
    assert read_job(database, job) == (state, f"item 0: {' '.join(str(error).split())}")
    assert caplog.messages == [f"job {job} is {state}: item 0: {error}"]
    assert {state for (state,) in read_items(database, job)} == {"owed"}


def test_a_result_that_pauses_its_job_is_stored_and_stops_the_slice(database):
    job = new_job(database, tasks=3)

    async def pause(work: Work) -> ItemResult:
        return ItemResult(Outcome("7", Ending.ANSWERED), pause="approve the plan")

    script = ScriptedJob(pause, 1)
    job_slice = run_job(database, job, script)
    assert str(job_slice.result) == "1 item finished; stopped: an item stopped the job" and script.ordinals == [0]
    assert read_job(database, job) == ("paused", "item 0: approve the plan")
    assert [state for (state,) in read_items(database, job)] == ["done", "owed", "owed"]


def test_a_slice_whose_items_all_end_by_errors_of_code_has_failed(database):
    job = new_job(database, tasks=2)
    job_slice = run_job(database, job, ScriptedJob(raise_error(ZeroDivisionError("a bug"))))
    assert job_slice.result.has_failed
    assert str(job_slice.result).startswith("failed: 2 items finished, 2 failed: ZeroDivisionError: a bug (")


def test_an_item_whose_rows_are_refused_ends_and_the_slice_continues(database):
    job = new_job(database, tasks=4)
    with database.writer.begin() as connection:
        connection.execute(
            text(
                "CREATE TRIGGER refusing BEFORE UPDATE ON episode WHEN NEW.answer = '13' "
                "BEGIN SELECT RAISE(ABORT, 'out of range'); END"
            )
        )

    async def answer_one_badly(work: Work) -> ItemResult:
        return ItemResult(Outcome("13" if work.ordinal == 1 else "7", Ending.ANSWERED))

    run_job(database, job, ScriptedJob(answer_one_badly))
    with database.engine.connect() as connection:
        endings = connection.execute(select(EpisodeRow.ending).order_by(EpisodeRow.id)).scalars().all()
    assert endings == ["answered", "infra_error", "answered", "answered"]


def test_a_slice_claims_from_the_item_after_the_last_and_no_more_than_it_can_use(database, monkeypatch):
    job = new_job(database, tasks=6)
    requests = record_claims(monkeypatch)

    async def wait(work: Work) -> None:
        await asyncio.sleep(0.05)

    run_job(database, job, ScriptedJob(wait, 2))
    assert requests[0] == ClaimRequest(2, 0, False, -1) and requests[1].after == 1
    assert [request.after for request in requests] == sorted(request.after for request in requests)
