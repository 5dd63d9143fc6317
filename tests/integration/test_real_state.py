"""What really happens to a job, from its stored state and the worker processes that are alive. On both databases."""

from __future__ import annotations

import pytest
from sqlalchemy import update

from db.engine.connection import now
from db.engine.lease import Lease
from db.models import Heartbeat, JobRow
from db.queries.jobs import get_job
from db.queue.fence import end_session
from db.queue.job_changes import cancel, pause
from db.queue.schedule import await_job, back_off, begin_work
from lumos_queue.reports.real_state import RealState, real_states
from tests.claims import claim, holder, new_job

LEASE = Lease(15.0)


def standing(database, job: str, **options):
    with database.engine.connect() as connection:
        return real_states(connection, [get_job(connection, job)], LEASE, **options)[job]


def words(database, job: str) -> str:
    return standing(database, job).words


@pytest.fixture
def job(database) -> str:
    return new_job(database)


def fall_silent(database, session: int) -> None:
    """Its last heartbeat was longer ago than the lease."""
    with database.writer.begin() as connection:
        silent = update(Heartbeat).where(Heartbeat.session == session)
        connection.execute(silent.values(at=now() - LEASE.seconds - 1))


def test_a_job_is_queued_only_while_a_process_is_alive_that_may_take_it(database, job):
    assert words(database, job) == "nobody works on it"
    who = holder(database, new_job(database, digest="cd" * 32))
    assert words(database, job) == "queued"
    end_session(database, who.session)
    assert words(database, job) == "nobody works on it"


def test_a_job_runs_while_a_live_process_holds_an_item_of_it(database, job):
    who = holder(database, job)
    begin_work(database, job, [])
    claim(database, who, 2)
    assert words(database, job) == "running"
    fall_silent(database, who.session)  # killed: nobody has noticed, and the items are still claimed
    assert words(database, job) == "nobody works on it"


def test_after_ctrl_c_nobody_works_on_a_job_that_is_stored_as_running(database, job):
    who = holder(database, job)
    begin_work(database, job, [])
    claim(database, who)
    end_session(database, who.session)
    with database.engine.connect() as connection:
        assert get_job(connection, job).state == "running"
    assert standing(database, job).state == RealState.NOBODY


def test_it_waits_for_an_endpoint_as_long_as_somebody_would_try_again(database, job):
    who = holder(database, job)
    back_off(database, job, "tgi://a:1 does\nnot answer", 5.0)
    assert words(database, job) == "waiting: tgi://a:1 does not answer"
    end_session(database, who.session)
    assert words(database, job) == "nobody works on it: it waited: tgi://a:1 does not answer"


def test_it_waits_for_another_job_until_that_has_ended(database, job):
    other = new_job(database, digest="cd" * 32)
    holder(database, other)
    assert await_job(database, job, other, f"for the rollouts of job {other}")
    assert words(database, job) == f"waiting: for the rollouts of job {other}"
    cancel(database, other)
    assert words(database, job) == "queued"


def test_a_person_who_has_to_approve_is_waited_for_though_no_process_is_alive(database, job):
    with database.writer.begin() as connection:
        told = update(JobRow).where(JobRow.id == job)
        connection.execute(told.values(waiting=f"1 plan waits for approval: lumos approve {job}"))
    assert standing(database, job).state == RealState.WAITING


@pytest.mark.parametrize("stop, after", [(pause, RealState.PAUSED), (cancel, RealState.CANCELLED)])
def test_it_is_stopping_while_items_are_in_flight(database, job, stop, after):
    who = holder(database, job)
    claim(database, who, 2)
    stop(database, job)
    assert words(database, job) == "stopping"
    fall_silent(database, who.session)
    assert words(database, job) == after


def test_a_job_that_ended_with_items_without_a_result_is_incomplete(database, job):
    with database.writer.begin() as connection:
        connection.execute(update(JobRow).where(JobRow.id == job).values(state="done"))
    assert words(database, job) == "done"
    found = standing(database, job, missing_counts={job: 3})
    assert (found.state, found.words) == (RealState.INCOMPLETE, "incomplete: 3 without a result")


def test_the_states_of_many_jobs_cost_as_many_queries_as_those_of_one(database, job):
    from sqlalchemy import event

    jobs = [job, *(new_job(database, digest=f"{number:064x}") for number in range(5))]
    sent = []
    with database.engine.connect() as connection:
        rows = [get_job(connection, one) for one in jobs]
        event.listen(connection, "before_cursor_execute", lambda *arguments: sent.append(arguments[2]))
        assert len(real_states(connection, rows, LEASE)) == 6
    assert len(sent) <= 3
