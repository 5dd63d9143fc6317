"""An embedded run, in this process on SQLite: how it ends, and what its caller reads if it hangs."""

from __future__ import annotations

import logging
import threading

import pytest

import workers.dispatcher
import workers.embedded_run
import workers.watchdog
from db.kinds.pools import POOLS
from db.queries.jobs import get_job
from db.queue.claims import LeaseHolder
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.errors import InfrastructureError, SpecError
from lumos_queue.settings import Settings
from tests.claims import claim, holder, new_job
from tests.services import wait_until
from tests.stored_rows import make_tables
from workers.context import WorkerContext
from workers.embedded_run import EmbeddedRun


@pytest.fixture
def settings(tmp_path):
    make_tables(tmp_path)
    return Settings(home=tmp_path, poll_seconds=0.05, heartbeat_seconds=0.05)


@pytest.fixture
def worker(settings):
    context = WorkerContext(Deployment(settings))
    yield context
    context.close()


def script_run(monkeypatch, run) -> None:
    monkeypatch.setattr(workers.embedded_run.Dispatcher, "run", run)


def test_an_embedded_run_ends_with_its_job_and_holds_nothing_afterwards(settings, worker, monkeypatch):
    job = new_job(worker.database)
    seen = []

    def run(self, stop):
        seen.append((self.only, self.pools, stop(), threading.current_thread().name))

    script_run(monkeypatch, run)
    embedded = EmbeddedRun(Deployment(settings), job).start()
    embedded.close()
    assert seen == [(job, POOLS, False, f"job-{job}")]
    assert embedded.over.is_set() and embedded.failure is None and not embedded.is_abandoned
    assert embedded.remark == "" and embedded.thread.daemon and not embedded.thread.is_alive()
    assert embedded.go_on() is False, "it has ended"


def test_a_resumed_job_is_looked_at_once_more_before_its_run_ends(settings, worker, monkeypatch):
    job, looks = new_job(worker.database), []

    def run(self, stop):
        looks.append(stop())
        if len(looks) == 1:
            assert embedded.go_on() is True and embedded.go_on() is True

    script_run(monkeypatch, run)
    embedded = EmbeddedRun(Deployment(settings), job)
    assert embedded.go_on() is True, "it has not begun"
    embedded.start()
    wait_until(embedded.over.is_set, "it ends")
    assert looks == [False, False]


@pytest.mark.parametrize("event", ["stop", "given_up"])
def test_an_embedded_run_drains_when_its_process_ends_or_nobody_waits(settings, worker, monkeypatch, event):
    job, began = new_job(worker.database), threading.Event()

    def run(self, stop):
        began.set()
        wait_until(stop, "it has to stop")

    script_run(monkeypatch, run)
    embedded = EmbeddedRun(Deployment(settings), job).start()
    wait_until(began.is_set, "it has begun")
    getattr(embedded, event).set()
    assert embedded.go_on() is False
    wait_until(embedded.over.is_set, "it ends")
    assert embedded.failure is None


def test_the_error_of_an_embedded_run_is_kept_for_the_caller(settings, worker, monkeypatch):
    def run(self, stop):
        raise SpecError("no such thing")

    script_run(monkeypatch, run)
    embedded = EmbeddedRun(Deployment(settings), "job").start()
    embedded.close()
    assert isinstance(embedded.failure, SpecError) and str(embedded.failure) == "no such thing"

    def fail() -> None:
        raise OSError("away")

    again = EmbeddedRun(Deployment(settings), "job")
    monkeypatch.setattr(again.context, "end_session", fail)
    again.start().close()
    assert isinstance(again.failure, SpecError), "the first error is the reason"
    script_run(monkeypatch, lambda self, stop: None)
    third = EmbeddedRun(Deployment(settings), "job")
    monkeypatch.setattr(third.context, "end_session", fail)
    third.start().close()
    assert str(third.failure) == "away" and third.over.is_set()


def test_a_run_that_hangs_is_abandoned_with_advice_and_its_items_are_pending_again(
    settings, worker, monkeypatch, caplog
):
    job, hangs, goes_on, held = new_job(worker.database), threading.Event(), threading.Event(), []

    def run(self, stop):
        held.extend(claim(self.worker.database, LeaseHolder(self.worker.session.id, "1", row), 4))
        hangs.set()
        goes_on.wait(60)

    with worker.database.engine.connect() as connection:
        row = get_job(connection, job)
    script_run(monkeypatch, run)
    embedded = EmbeddedRun(Deployment(settings), job, ends_process=False).start()
    hangs.wait(60)
    who = holder(worker.database, job)
    assert len(held) == 4 and claim(worker.database, who) == []
    embedded.context.on_hang("the event loop hangs for 60 s")
    text = (
        f"Job {job} is not worked on here any more: the event loop hangs for 60 s. Does a function, a tool or a "
        "plug-in of it wait without await, or never return? What was in flight is pending again, at the latest in "
        "15 s. Once this is fixed, continue with: resume()"
    )
    assert isinstance(embedded.failure, InfrastructureError) and str(embedded.failure) == text
    assert text in caplog.messages and embedded.is_abandoned and embedded.go_on() is False
    embedded.close()
    assert embedded.thread.is_alive(), "nobody waits for it"
    assert len(claim(worker.database, who)) >= 1, "others may take its items"
    goes_on.set()
    embedded.thread.join(60)


def test_a_run_that_hangs_is_abandoned_though_the_database_does_not_answer(settings, worker, monkeypatch):
    releases, answers = [], threading.Event()

    def wait_for_database() -> None:
        releases.append(threading.current_thread())
        answers.wait(60)

    embedded = EmbeddedRun(Deployment(settings), new_job(worker.database), ends_process=False)
    monkeypatch.setattr(workers.embedded_run, "RELEASE_SECONDS", 0.01)
    monkeypatch.setattr(embedded.context, "give_up_session", wait_for_database)
    embedded.abandon("it hangs")
    assert embedded.over.is_set() and embedded.given_up.is_set() and embedded.is_abandoned
    wait_until(lambda: releases, "its items are given back")
    assert [(thread.name, thread.daemon, thread.is_alive()) for thread in releases] == [("release", True, True)]
    answers.set()


def test_a_command_whose_run_hangs_ends_and_a_program_goes_on(settings):
    from workers.hang import end_process

    assert EmbeddedRun(Deployment(settings), "job").context.on_hang is end_process
    embedded = EmbeddedRun(Deployment(settings), "job", ends_process=False)
    assert embedded.context.on_hang == embedded.abandon


def test_outages_of_an_embedded_run_are_not_logged_because_its_caller_prints_them(
    settings, worker, monkeypatch, caplog
):
    logs = [logging.getLogger(name) for name in ("workers.run", "workers.dispatcher")]

    def run(self, stop):
        for log in logs:
            log.warning("job waits")
            log.error("a problem")

    script_run(monkeypatch, run)
    EmbeddedRun(Deployment(settings), new_job(worker.database)).start().close()
    assert caplog.messages == ["a problem"] * 2
    caplog.clear()
    for log in logs:
        log.warning("job waits")
        assert not log.filters
    assert caplog.messages == ["job waits"] * 2
