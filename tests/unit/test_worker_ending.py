"""When a slice ends, by a clock that the test holds; and how often a child of `lumos up` may start again."""

from __future__ import annotations

import sys
import threading
from types import SimpleNamespace

import pytest

import workers.stop_signal
import workers.supervisor
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.errors import DatabaseUnavailable
from lumos_queue.settings import Settings
from tests.claims import new_job
from tests.services import wait_until
from tests.stored_rows import make_tables
from workers.stop_signal import MAX_SLICES, StopPolicy, StopSignal
from workers.supervisor import MAX_RESTARTS, WITHIN_SECONDS, Child

SETTINGS = SimpleNamespace(drain_seconds=3.0, slice_seconds=10.0, poll_seconds=2.0)
PROCESS = SimpleNamespace(settings=SETTINGS, database="the database")


class Clock:
    def __init__(self, monkeypatch, *modules):
        self.now = 100.0
        for module in modules:
            monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: self.now))


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch, workers.stop_signal)


def ender(**options) -> StopPolicy:
    return StopPolicy(PROCESS, "job", ["llm"], options.pop("stop", lambda: False), **options)


def waits(monkeypatch, *answers):
    """`runnable_jobs` answers so, one after the other; returns what it was asked."""
    asked, left = [], list(answers)

    def runnable_jobs(database, pools, beside):
        asked.append((database, pools, beside))
        if isinstance(found := left.pop(0), Exception):
            raise found
        return found

    monkeypatch.setattr(workers.stop_signal, "runnable_jobs", runnable_jobs)
    return asked


def test_who_is_told_to_stop_claims_no_more_and_gives_back_after_the_grace(clock):
    ends = ender(stop=lambda: True)
    assert ends.reason == ""
    assert ends() == StopSignal.LEAVE and ends.reason == "the worker is stopping"
    clock.now += SETTINGS.drain_seconds
    assert ends() == StopSignal.LEAVE
    clock.now += 0.1
    assert ends() == StopSignal.ABORT and ends.reason == "the worker is stopping"


def test_another_job_gets_its_turn_when_the_slice_has_had_its_time(clock, monkeypatch):
    asked = waits(monkeypatch, ["other"])
    ends = ender()
    clock.now += SETTINGS.slice_seconds - 1
    assert (ends(), asked) == (StopSignal.CONTINUE, [])
    clock.now += 1
    ends()  # the database is asked beside; who asked does not wait
    wait_until(lambda: asked == [("the database", ["llm"], "job")], "it looks for others")
    wait_until(lambda: ends() == StopSignal.DRAIN, "another waits")
    assert ends.reason == "another job's turn" and len(asked) == 1


def test_other_jobs_are_looked_for_in_a_thread_that_keeps_no_process_alive(clock, monkeypatch):
    threads = []
    monkeypatch.setattr(
        workers.stop_signal, "runnable_jobs", lambda *_, **__: threads.append(threading.current_thread()) or []
    )
    ends = ender()
    clock.now += SETTINGS.slice_seconds
    ends()
    wait_until(lambda: threads, "it looks for others")
    assert [(thread.name, thread.daemon) for thread in threads] == [("look for others", True)]


def test_a_slice_on_a_real_database_ends_for_a_job_of_its_pools_that_is_due(clock, tmp_path):
    make_tables(tmp_path)
    with Deployment(Settings(home=tmp_path, slice_seconds=10.0, poll_seconds=2.0)) as deployment:
        job = new_job(deployment.database)
        new_job(deployment.database, digest="cd" * 32, pool="cpu")
        context = SimpleNamespace(settings=deployment.settings, database=deployment.database)
        looks = []

        class CountingPolicy(StopPolicy):
            def _look(self) -> None:
                super()._look()
                looks.append(1)

        ends = CountingPolicy(context, job, ["llm", "gpu"], lambda: False)
        clock.now += 10.0
        for count in (1, 2):
            clock.now += 2.1
            assert ends() == StopSignal.CONTINUE
            wait_until(lambda count=count: len(looks) == count, "it has looked")
            assert ends() == StopSignal.CONTINUE and ends.reason == ""
        new_job(deployment.database, digest="ef" * 32)
        clock.now += 2.1
        ends()
        wait_until(lambda: len(looks) == 3, "it has looked")
        assert ends() == StopSignal.DRAIN


def test_who_has_found_nobody_waiting_looks_again_after_a_while(clock, monkeypatch, caplog):
    gone = DatabaseUnavailable("gone")
    asked = waits(monkeypatch, [], gone, ["other"])
    ends = ender()
    clock.now += SETTINGS.slice_seconds
    for looks in (1, 2, 3):
        clock.now += 0.1
        ends()
        wait_until(lambda looks=looks: len(asked) == looks, "it looks")
        clock.now += SETTINGS.poll_seconds
        assert ends() == StopSignal.CONTINUE or looks == 3
        assert len(asked) == looks, "not yet again"
    wait_until(lambda: ends() == StopSignal.DRAIN, "another waits")
    wait_until(lambda: caplog.messages, "the failure is logged")
    assert caplog.messages == ["could not look for other jobs: gone"]


def test_a_bounded_slice_ends_some_time_and_one_alone_does_not(clock, monkeypatch):
    waits(monkeypatch)
    alone, bounded = ender(alone=True), ender(alone=True, is_bounded=True)
    clock.now += MAX_SLICES * SETTINGS.slice_seconds
    assert (alone(), bounded()) == (StopSignal.CONTINUE, StopSignal.CONTINUE)
    clock.now += 0.1
    assert (alone(), bounded()) == (StopSignal.CONTINUE, StopSignal.DRAIN)
    assert (alone.reason, bounded.reason) == ("", "the slice's time was over")


def test_a_child_may_start_again_until_it_dies_too_often_in_too_short_a_time(monkeypatch, tmp_path):
    clock = Clock(monkeypatch, workers.supervisor)
    often, seldom = (Child("part", ["true"], tmp_path / name, {}, tmp_path) for name in ("often", "seldom"))
    assert all(often.may_start_again() for _ in range(MAX_RESTARTS))
    assert all(seldom.may_start_again() for _ in range(MAX_RESTARTS))
    clock.now += WITHIN_SECONDS
    assert not often.may_start_again()
    clock.now += 0.1
    assert seldom.may_start_again()


def test_a_child_is_a_group_of_its_own_and_its_last_lines_are_shown(tmp_path):
    code = "import os; [print(n) for n in range(8)]; print(os.getpgid(0) == os.getpid(), 'ä')"
    child = Child("part", [sys.executable, "-c", code], tmp_path / "log", {"PYTHONIOENCODING": "utf-8"}, tmp_path)
    child.start()
    wait_until(lambda: child.exit_status == 0, "it ends")
    assert child.last_lines(3) == ["6", "7", "True ä"]
    child.log.write_bytes(b"\xff\n")
    assert child.last_lines() == ["\ufffd"]
