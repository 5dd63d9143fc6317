"""A plan waits for a person without a worker: workers are processes, and both databases hold the wait."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import pytest
from sqlalchemy import update

from db.engine.connection import Database, open_database
from db.engine.migrate import upgrade
from db.models import Approval, CompletionRow
from db.queries.jobs import find_job
from db.queue.batch import Batch, ReturnedItem
from db.queue.claims import ClaimRequest, LeaseHolder
from db.queue.commit import commit
from db.queue.job_changes import cancel, pause, remove, resume
from db.review.approvals import answer, find_waiting
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.errors import SpecError
from lumos_queue.settings import Settings
from tests.fake_endpoint import FakeEndpoint
from tests.kills.killed_child import KILLED, end_sessions, run_in_child, wait
from tests.open_ended_runs import (
    NOTE,
    SECOND,
    home_of,
    items,
    list_waiting,
    read_everything,
    read_wait_reason,
    reply,
    submit_tasks,
    task,
)
from tests.services import wait_until
from tests.stored_rows import state, wait_for
from tests.tool_apis import LATEST_NAME
from workers.context import WorkerContext
from workers.dispatcher import Dispatcher

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # a child uses no thread of this process
#: For what goes by the same statements as the other tests here.
sqlite_only = pytest.mark.parametrize("settings", ["sqlite"], indirect=True)
SHOWN = "1. Look the parcel up\n2. Tell where it is"


@pytest.fixture(params=["sqlite", "postgresql"])
def settings(request, tmp_path) -> Settings:
    return home_of(tmp_path, "" if request.param == "sqlite" else request.getfixturevalue("postgres_url"))


@pytest.fixture
def database(settings) -> Iterator[Database]:
    opened = open_database(settings.database)
    upgrade(opened)
    yield opened
    opened.close()


@pytest.fixture
def server() -> Iterator[FakeEndpoint]:
    with FakeEndpoint(reply) as one:
        yield one


def serve(settings: Settings, until: Callable[[], bool] = lambda: False) -> None:
    """A worker of its own, which does whatever there is."""
    process = WorkerContext(Deployment(settings))
    try:
        Dispatcher(process, ["llm"]).run(until)
    finally:
        process.close()


@contextmanager
def worker(settings: Settings) -> Iterator[int]:
    """A worker process while the block lasts; gives its pid."""
    pid = run_in_child(partial(serve, settings))
    try:
        yield pid
    finally:
        os.killpg(pid, signal.SIGKILL)
        wait(pid)


def wait_for_plans(database: Database, job: str, many: int = 1) -> None:
    shown = f"{many} plan"
    wait_until(lambda: read_wait_reason(database, job).startswith(shown), f"{shown} of {job} waits", 180)


def yes(database: Database, job: str, who: str = "ann") -> None:
    for plan in list_waiting(database, job):
        answer(database, plan, True, "", who)


def asked(server: FakeEndpoint) -> Counter[str]:
    return Counter(call["sha256"] for call in server.calls)


def test_a_plan_is_shown_refused_once_approved_and_its_lines_are_done(database, settings, server):
    job = submit_tasks(database, settings, server, [task(1)])
    with worker(settings):
        wait_for_plans(database, job)
        [plan] = list_waiting(database, job)
        assert (plan.shown, plan.question, plan.tries) == (SHOWN, "Tell all of parcel P1.", 1)
        answer(database, plan, False, NOTE, "ann")
        wait_until(lambda: list_waiting(database, job), "the planner is asked again", 180)
        [plan] = list_waiting(database, job)
        assert (plan.shown, plan.tries) == (SECOND, 2)
        answer(database, plan, True, "", "ben")
        wait_for(database, job)
    found = read_everything(database, job)
    [episode] = found["episodes"].values()
    assert (episode["ending"], episode["answer"]) == ("answered", "P1 is in Ombry, says the last line.")
    assert [(row[5], row[6], row[7], row[8]) for row in found["approvals"]] == [
        (SHOWN, "no", NOTE, "ann"),
        (SECOND, "yes", "", "ben"),
    ]
    assert max(asked(server).values()) == 1 and server.count == episode["calls"] == 2 + 2 + 1 + 1
    names = [row[4] for row in episode["execution"]]
    assert names == [LATEST_NAME, "Finish", "Finish", "Finish"], "and only the lines of the approved list"
    assert items(database, job, "deaths", "failures", "problem", "batch") == [(0, 0, "", 0)]


def test_while_a_plan_waits_nobody_holds_it_and_other_jobs_run(database, settings, server):
    first = submit_tasks(database, settings, server, [task(1), task(2), task(3)])
    with worker(settings):
        wait_for_plans(database, first, 3)
        assert items(database, first, "state", "session", "claim", "not_before_at") == [("awaiting", None, 1, 0.0)] * 3
        assert read_wait_reason(database, first) == f"3 plans wait for approval: lumos approve {first}"
        calls = server.count
        other = submit_tasks(database, settings, server, [task(4)], approve_all=True)
        wait_for(database, other)  # by the only worker there is
        time.sleep(0.3)
        assert items(database, first, "state", "claim") == [("awaiting", 1)] * 3, "no worker claims them again"
        assert server.count == calls + 4, "and no model is asked for them"
        # Plans are in the order of asking, which is any order.
        answer(
            database, next(plan for plan in list_waiting(database, first) if plan.name == f"{first}-1"), True, "", "ann"
        )
        wait_until(lambda: items(database, first, "state")[1] == ("done",), "the approved one is done", 180)
        wait_for_plans(database, first, 2)
        yes(database, first)
        wait_for(database, first)
    assert [row[-1] for row in read_everything(database, other)["approvals"]] == ["--yes"]
    assert read_wait_reason(database, first) == ""


def test_a_worker_that_is_killed_while_a_plan_waits_costs_nothing(database, settings, server):
    whole = submit_tasks(database, settings, server, [task(1)])
    with worker(settings):
        wait_for_plans(database, whole)
        yes(database, whole)
        wait_for(database, whole)
    calls = asked(server)
    server.calls.clear()
    job = submit_tasks(database, settings, server, [task(1)], seed=1)
    with worker(settings) as pid:
        wait_for_plans(database, job)
        os.killpg(pid, signal.SIGKILL)
        yes(database, job)  # before anybody has noticed the kill
    assert items(database, job, "state", "deaths", "batch") == [("owed", 0, 0)]
    with worker(settings):
        wait_for(database, job)
    assert asked(server) == calls, "no model was asked twice"
    expected, found = read_everything(database, whole), read_everything(database, job)
    assert found == expected
    assert items(database, job, "deaths", "failures", "batch") == [(0, 0, 0)]


@sqlite_only
@pytest.mark.parametrize("place", ["before it is shown", "after the answer"])
def test_a_worker_that_is_killed_around_a_plan_repeats_no_stored_call(database, settings, server, place):
    """The plan's row and the wait are one commit: they are there together, or neither is."""
    job = submit_tasks(database, settings, server, [task(1), task(2)])
    server.latency = 0.15
    pid = run_in_child(partial(serve, settings))
    if place == "before it is shown":
        wait_until(lambda: server.count >= 2, "the planner is asked", 180)
    else:
        wait_for_plans(database, job, 2)
        calls = server.count
        yes(database, job)
        wait_until(lambda: server.count > calls + 1, "the first line is begun", 180)
    os.killpg(pid, signal.SIGKILL)
    assert wait(pid) == KILLED
    for (item,) in items(database, job, "id"):
        with database.engine.connect() as connection:
            shown = connection.execute(Approval.__table__.select().where(Approval.episode == item)).all()
        assert bool(shown) == (place != "before it is shown")
    end_sessions(settings)
    server.latency = 0.0
    with worker(settings):
        if place != "after the answer":
            wait_for_plans(database, job, 2)
            yes(database, job)
        wait_for(database, job)
    assert [row[6] for row in read_everything(database, job)["approvals"]] == ["yes", "yes"]
    assert max(asked(server).values()) <= 2, "but for calls in flight"


def test_of_two_people_who_answer_at_once_one_counts(database, settings, server):
    job = submit_tasks(database, settings, server, [task(1)])
    with worker(settings):
        wait_for_plans(database, job)
        [plan] = list_waiting(database, job)
        late: list[str] = []
        both = threading.Barrier(2)

        def say(who: str, approves: bool) -> None:
            opened = open_database(settings.database)
            both.wait()
            try:
                answer(opened, plan, approves, "", who)
            except SpecError as error:
                late.append(f"{who}: {error}")
            opened.close()

        people = [threading.Thread(target=say, args=one) for one in (("ann", True), ("ben", False))]
        for one in people:
            one.start()
        for one in people:
            one.join()
        [first] = [row[6:] for row in read_everything(database, job)["approvals"] if row[8]]
        word = "approved" if first == ("yes", "", "ann") else "refused"
        loser = "ben" if first[2] == "ann" else "ann"
        assert late == [f"{loser}: The plan of {plan.name} was {word} by {first[2]} before: that answer counts."]


def test_a_plan_is_answered_while_a_worker_holds_its_episode_again(database, settings, server):
    """Cancelled and resumed, the item is claimed although its plan has been shown: an answer must not be missed."""
    job = submit_tasks(database, settings, server, [task(1)])
    with worker(settings):
        wait_for_plans(database, job)
    end_sessions(settings)
    cancel(database, job)
    assert (state(database, job), items(database, job, "state")) == ("cancelled", [("cancelled",)])
    assert list_waiting(database, job) == []
    resume(database, job)
    [plan] = list_waiting(database, job)
    process = WorkerContext(Deployment(settings))
    with database.engine.connect() as connection:
        holder = LeaseHolder(process.session.id, "code", find_job(connection, job))
    [held] = commit(database, holder, Batch({}), ClaimRequest(1))
    answer(database, plan, True, "", "ann")
    commit(database, holder, Batch({held.id: held.claim}, given_back=[ReturnedItem(held.id, awaits=True)]))
    process.close()
    assert items(database, job, "state") == [("owed",)]
    with worker(settings):
        wait_for(database, job)


def test_a_job_is_cancelled_or_removed_while_its_plan_waits(database, settings, server):
    job = submit_tasks(database, settings, server, [task(1)])
    with worker(settings):
        wait_for_plans(database, job)
        with pytest.raises(SpecError, match="cancel it first"):
            remove(database, job)
        [plan] = list_waiting(database, job)
        assert cancel(database, job) == "cancelled"
        with pytest.raises(SpecError, match=f"cancelled meanwhile.*lumos resume {job}"):
            answer(database, plan, True, "", "ann")
        resume(database, job)
        wait_for_plans(database, job)
        assert server.count == 1, "the planner's reply is recorded"
        cancel(database, job)
        remove(database, job)
        with pytest.raises(SpecError, match="was removed meanwhile"):
            answer(database, plan, True, "", "ann")
        with database.engine.connect() as connection:
            assert connection.execute(Approval.__table__.select()).all() == [] == find_waiting(connection)


@sqlite_only
def test_a_paused_job_keeps_its_plan_and_an_answer_to_it(database, settings, server):
    job = submit_tasks(database, settings, server, [task(1)])
    with worker(settings):
        wait_for_plans(database, job)
        assert pause(database, job) == "paused"
        yes(database, job)
        time.sleep(0.2)
        assert (state(database, job), items(database, job, "state")) == ("paused", [("owed",)])
        assert read_wait_reason(database, job) == "resumed by a person"
        resume(database, job)
        wait_for(database, job)


@sqlite_only
def test_new_code_shows_its_plan_anew(database, settings, server):
    """The recorded list no longer follows: a second attempt, whose question alone is open."""
    job = submit_tasks(database, settings, server, [task(1)])
    with worker(settings):
        wait_for_plans(database, job)
    end_sessions(settings)
    cancel(database, job)
    resume(database, job)
    with database.writer.begin() as connection:
        connection.execute(update(CompletionRow).values(command=b"of other code"))
    with worker(settings):
        wait_until(
            lambda: any(plan.attempt == 2 for plan in list_waiting(database, job)), "a plan of attempt 2 waits", 180
        )
        assert len(list_waiting(database, job)) == 1
        yes(database, job)
        wait_for(database, job)
    assert [(row[1], row[6]) for row in read_everything(database, job)["approvals"]] == [(1, ""), (2, "yes")]
