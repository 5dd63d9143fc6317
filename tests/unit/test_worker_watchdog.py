"""The watchdog of a process, on a clock that the test sets: a silent database, and work that continues after TERM."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

import workers.dispatcher
import workers.embedded_run
import workers.watchdog
from db.engine.lease import Lease
from lumos_queue.settings import Settings
from tests.services import wait_until
from workers.watchdog import Watchdog


class WatchedWorker(SimpleNamespace):
    """A worker with connections whose silence the test states."""

    def __init__(self, clock):
        settings = Settings(fence_seconds=10.0, lease_seconds=20.0, drain_seconds=3.0)
        self.silent, self.heard_at, self.cuts, self.hung, self.ended = 0.0, 0.0, 0, list[str](), threading.Event()
        connections = SimpleNamespace(
            silent_seconds=lambda: self.silent, heard_at=0.0, close_silent=lambda lease: self.cuts * (lease == 20.0)
        )
        super().__init__(
            settings=settings,
            deployment=SimpleNamespace(
                settings=settings,
                lease=Lease(settings.lease_seconds),
                database_if_open=SimpleNamespace(connections=connections),
            ),
            on_hang=self.hung.append,
            end_session=self.ended.set,
        )


@pytest.fixture
def watch_clock(monkeypatch):
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(
        workers.watchdog,
        "time",
        SimpleNamespace(monotonic=lambda: clock.now, time=lambda: clock.now),
    )
    return clock


def test_the_silence_of_a_database_is_a_line_at_its_start_and_at_its_end(watch_clock, caplog):
    watched = WatchedWorker(watch_clock)
    watchdog = Watchdog(watched, lambda: False)
    connections = watched.deployment.database_if_open.connections
    watched.silent = 6.0
    watchdog._look_at_the_database()
    assert caplog.messages == [], "three tenths of the lease are not over"
    watched.silent = 6.1
    for _ in range(2):
        watchdog._look_at_the_database()
    assert caplog.messages == [
        "the database has not answered since 00:16:33 UTC (6 s): after 10 s this process gives up its items, after "
        "20 s it cuts its connections and tries new ones"
    ]
    watch_clock.now, connections.heard_at, watched.silent = 1030.0, 1020.0, 0.0
    for _ in range(2):
        watchdog._look_at_the_database()
    assert caplog.messages[1:] == ["the database answers again, after 26 s"]
    watched.silent = 7.0
    watchdog._look_at_the_database()
    assert len(caplog.messages) == 3, "a second silence is logged, too"
    watched.cuts = 2
    watchdog._look_at_the_database()
    assert caplog.messages[3:] == ["cut 2 connections on which the database was silent for too long"]


@pytest.mark.parametrize("database", [None, SimpleNamespace(connections=None)])
def test_a_database_that_is_not_open_or_a_file_is_not_watched(watch_clock, caplog, database):
    watched = WatchedWorker(watch_clock)
    watched.deployment.database_if_open = database
    Watchdog(watched, lambda: False)._look_at_the_database()
    assert caplog.messages == []


def test_work_after_term_is_ended_a_second_before_the_service_manager_would_kill_it(watch_clock, monkeypatch):
    """The limit is 3 s for items in flight and 4 s to leave."""
    monkeypatch.setattr(workers.watchdog, "LAST_SECONDS", 1.0)
    watched, stopping = WatchedWorker(watch_clock), threading.Event()
    waits = []
    over = SimpleNamespace(wait=lambda seconds: waits.append(seconds) or False, set=lambda: waits.append("over"))
    watchdog = Watchdog(watched, stopping.is_set, over)
    watchdog._look_at_the_clock()
    watch_clock.now += 1000
    stopping.set()
    watchdog._look_at_the_clock()
    watch_clock.now += 5.9
    watchdog._look_at_the_clock()
    assert (watched.hung, waits) == ([], []) and not watched.ended.is_set()
    watch_clock.now += 0.1
    watchdog._look_at_the_clock()
    wait_until(watched.ended.is_set, "its items are given back")
    assert watched.hung == ["still at work 7 s after the stop request"] and waits == [1.0, "over"]


def test_work_that_ends_in_its_last_second_is_not_ended_by_force(watch_clock):
    watched = WatchedWorker(watch_clock)
    over = threading.Event()
    watchdog = Watchdog(watched, lambda: True, over)
    watchdog._look_at_the_clock()
    watch_clock.now += 6.0
    over.set()
    watchdog._look_at_the_clock()
    assert watched.hung == []


def test_a_watchdog_looks_until_its_work_is_over(monkeypatch):
    looks = []
    monkeypatch.setattr(workers.watchdog, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(Watchdog, "_look_at_the_database", lambda self: looks.append("database"))
    monkeypatch.setattr(Watchdog, "_look_at_the_clock", lambda self: looks.append("clock"))
    with Watchdog(SimpleNamespace(), lambda: False):
        wait_until(lambda: len(looks) >= 4, "it looks again and again")
        (thread,) = [each for each in threading.enumerate() if each.name == "watchdog" and each.daemon][-1:]
    wait_until(lambda: not thread.is_alive(), "it ends")
    assert looks[:4] == ["database", "clock"] * 2
