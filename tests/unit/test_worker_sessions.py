"""A worker session by a clock that the test sets: what it logs, when it gives up, what it holds. On SQLite."""

from __future__ import annotations

import logging
import threading
from types import SimpleNamespace

import pytest
from sqlalchemy import select
from sqlalchemy.exc import OperationalError

import workers.context
import workers.session
import workers.stop_signal
from db.engine.connection import open_database
from db.engine.lease import HUNG_LEASES
from db.engine.migrate import upgrade
from db.kinds.pools import Gpus
from db.kinds.states import JobState
from db.models import WorkerSessionRow
from db.queue.batch import ReturnedItem
from db.queue.claims import ClaimedItem
from db.queue.fence import Fenced
from db.queue.job_stops import JobStop
from lumos_queue.settings import Settings
from tests.services import wait_until
from workers import gpus
from workers.context import WorkerContext
from workers.outbox import Outbox
from workers.session import WorkerSession
from workers.stop_signal import MAX_SLICES, StopPolicy

QUIET = Settings(heartbeat_seconds=3600.0, fence_seconds=7200.0, lease_seconds=9000.0)
QUICK = Settings(heartbeat_seconds=0.01, fence_seconds=100.0, lease_seconds=200.0)
AWAY = OperationalError("SELECT", {}, Exception("away"))


@pytest.fixture
def database(tmp_path):
    opened = open_database(f"sqlite:///{tmp_path / 'lumos.db'}")
    upgrade(opened)
    yield opened
    opened.close()


@pytest.fixture
def clock(monkeypatch):
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(workers.session, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


def read_session(database, identifier: int):
    with database.engine.connect() as connection:
        return connection.execute(select(WorkerSessionRow.__table__).where(WorkerSessionRow.id == identifier)).one()


def test_a_session_is_stored_with_its_version_pools_and_gpus_and_ends_itself(database, monkeypatch):
    monkeypatch.setattr(workers.session, "get_known_gpus", lambda: Gpus(2, 16_000))
    session = WorkerSession(database, QUIET, "1.2", ["cpu", "gpu"])
    row = read_session(database, session.id)
    assert (row.code_version, row.pools, row.gpus, row.gpu_mib, row.ended_at) == ("1.2", "cpu,gpu", 2, 16_000, None)
    thread = next(each for each in threading.enumerate() if each.name == "heartbeat" and each.is_alive())
    assert thread.daemon and not session.lost and not session.working
    session.close()
    assert read_session(database, session.id).ended_by == "itself" and not thread.is_alive()


def test_gpus_that_are_found_later_are_stored_with_the_next_heartbeat(database, monkeypatch):
    known: list[Gpus] = []
    monkeypatch.setattr(workers.session, "get_known_gpus", lambda: known[0] if known else None)
    session = WorkerSession(database, QUICK, "1")
    assert read_session(database, session.id).gpus is None
    known.append(Gpus(1, 24_000))
    wait_until(lambda: read_session(database, session.id).gpus == 1, "they are stored")
    assert read_session(database, session.id).gpu_mib == 24_000
    session.close()


def test_a_process_may_not_write_after_the_fence_or_when_it_was_declared_lost(database, clock):
    session = WorkerSession(database, QUIET, "1")
    clock.now += QUIET.fence_seconds
    assert session.lost is False
    clock.now += 0.1
    assert session.lost is True
    clock.now -= 1000
    assert session.lost is False
    session.declare_lost()
    assert session.lost is True
    session.close()


def test_a_session_works_while_it_has_a_job(database):
    session = WorkerSession(database, QUIET, "1")
    for job in ("first", "second"):
        session.work_on(job)
        session.states[job] = "running"
    session.leave("first")
    assert session.working and session.states == {"second": "running"}
    session.leave("second")
    assert not session.working and session.states == {}
    session.leave("second")
    session.close()


def test_a_silent_process_is_named_when_it_is_declared_dead(database, monkeypatch, caplog):
    session = WorkerSession(database, QUIET, "1")
    asked = []
    monkeypatch.setattr(workers.session, "reap", lambda *arguments: asked.append(arguments[:2]) or [5, 6])
    session.reap()
    assert asked == [(database, session.id)]
    assert caplog.messages == [
        f"worker session {number} was silent too long: its items are pending again" for number in (5, 6)
    ]
    session.close()


def test_a_heartbeat_that_fails_is_a_line_and_is_tried_again(database, monkeypatch, caplog):
    beats = []

    def fail(*_: object) -> None:
        beats.append(1)
        raise AWAY

    monkeypatch.setattr(workers.session, "beat", fail)
    session = WorkerSession(database, QUICK, "1")
    wait_until(lambda: len(beats) >= 3, "it beats")
    session.close()
    assert set(caplog.messages) == {"heartbeat failed: away"} and not session.lost


def test_a_session_that_was_declared_dead_beats_no_more(database, monkeypatch):
    beats = []

    def fenced(*_: object) -> None:
        beats.append(1)
        raise Fenced("x")

    monkeypatch.setattr(workers.session, "beat", fenced)
    session = WorkerSession(database, QUICK, "1")
    wait_until(lambda: session.lost, "it hears of it")
    session._thread.join(60)
    assert not session._thread.is_alive() and beats == [1]
    session.close()


def test_a_lost_session_is_ended_in_the_database_as_soon_as_that_answers(database, monkeypatch, caplog):
    ends, end = [], workers.session.end_session

    def fail_once(*arguments: object) -> None:
        ends.append(1)
        if len(ends) == 1:
            raise AWAY
        end(*arguments)

    monkeypatch.setattr(workers.session, "end_session", fail_once)
    session = WorkerSession(database, QUICK, "1")
    session.declare_lost()
    wait_until(lambda: read_session(database, session.id).ended_by == "itself", "it is ended")
    session.close()
    assert len(ends) == 2 and caplog.messages == [f"could not end worker session {session.id}: away"]


def test_a_loop_that_hangs_withholds_heartbeats_and_is_given_up_after_four_leases(database, clock, monkeypatch, caplog):
    beats, problems = [], []
    monkeypatch.setattr(WorkerSession, "_beat", lambda self: beats.append(clock.now))
    monkeypatch.setattr(workers.session, "reap", lambda *_: [])
    session = WorkerSession(database, QUICK, "1", on_hang=problems.append)
    session.work_on("job")
    wait_until(lambda: beats, "it beats")
    clock.now += QUICK.fence_seconds + 1
    wait_until(lambda: caplog.messages, "it is said")
    assert set(caplog.messages) == {"the event loop hangs: heartbeat withheld"} and problems == []
    clock.now = 1000.0 + HUNG_LEASES * QUICK.lease_seconds + 1
    session._thread.join(60)
    assert problems == ["the event loop hangs for 801 s"] and set(beats) == {1000.0} and HUNG_LEASES == 4
    ends = []
    monkeypatch.setattr(workers.session, "end_session", lambda *arguments: ends.append(arguments))
    session.give_up()
    assert session.lost and ends == [(database, session.id, True)], "its items are suspects, as of a dead process"


def test_a_process_finds_no_gpu_by_its_own_folder_and_asks_only_for_that_pool(tmp_path, monkeypatch):
    asked, number = [], [0]
    monkeypatch.setattr(workers.context, "find_gpus", lambda folder: asked.append(folder) or Gpus(number[0], 0))
    context = WorkerContext(Settings(home=tmp_path))
    assert context.can_run("cpu") and context.can_run("llm") and asked == []
    assert context.can_run("gpu") is False and asked == [tmp_path / "run" / "empty"]
    number[0] = 1
    assert context.can_run("gpu") is True
    for known, pools in (
        (None, ("cpu", "llm", "gpu")),
        (Gpus(0, 0), ("cpu", "llm")),
        (Gpus(1, 0), ("cpu", "llm", "gpu")),
    ):
        monkeypatch.setattr(workers.context, "get_known_gpus", lambda known=known: known)
        assert context.usable_pools == pools


def test_a_context_opens_its_session_once_and_a_new_one_after_its_end(tmp_path):
    settings = Settings(home=tmp_path, heartbeat_seconds=3600.0, fence_seconds=7200.0, lease_seconds=9000.0)
    database = open_database(settings.database)
    upgrade(database)
    database.close()
    context = WorkerContext(settings)
    assert context.database_if_open is None and not context.is_present and context.outage is None
    first = context.session
    assert context.session is first and context.is_present and context.database_if_open is context.database
    first.declare_lost()
    assert not context.is_present
    second = context.session
    assert second is not first and context.is_present
    context.end_session()
    assert not context.is_present and read_session(context.database, second.id).ended_by == "itself"
    context.close()
    assert context.database_if_open is None
    context.close()


@pytest.mark.parametrize(
    ("memories", "line"),
    [
        ([], "torch finds no GPU: jobs of the pool gpu are left to other workers"),
        ([16_000], "torch finds 1 GPU; the smallest has 16000 MiB"),
        ([24_000, 16_000], "torch finds 2 GPUs; the smallest has 16000 MiB"),
    ],
)
def test_the_gpus_of_a_process_are_a_line_of_its_log(tmp_path, monkeypatch, caplog, memories, line):
    monkeypatch.setattr(gpus, "_run_child", lambda folder: memories)
    with caplog.at_level(logging.INFO, "workers.gpus"):
        gpus.ask_torch(tmp_path)
    assert caplog.messages == [line]


ITEM = ClaimedItem(11, 3, 7, 0, 0, 0, None, 1, "1", ())


def test_an_item_is_held_until_a_stored_commit_ends_it_or_gives_it_back():
    outbox = Outbox()
    assert outbox.is_empty
    outbox.hold(ITEM)
    assert outbox.is_empty, "a claim is stored already"
    outbox.give_back(11, "a \0 problem", 5.0)
    assert not outbox.is_empty
    batch = outbox.take()
    assert batch.claims == {11: 7} and batch.given_back == [ReturnedItem(11, "a \ufffd problem", 5.0)]
    assert outbox.is_empty and outbox.take().claims == {11: 7}, "not yet stored"
    outbox.confirm(batch)
    assert outbox.take().claims == {}


def test_the_rest_that_is_given_back_has_neither_a_problem_nor_a_wait_and_no_item_twice():
    outbox = Outbox()
    stop = JobStop(JobState.PAUSED, "item 3: approve")
    for item in (11, 12, 13):
        outbox.hold(ClaimedItem(item, item, 1, 0, 0, 0, None, 1, "1", ()))
    outbox.give_back(11, awaits=True)
    outbox.stop_job(12, stop)
    outbox.give_back_rest()
    assert outbox.take().given_back == [
        ReturnedItem(11, awaits=True),
        ReturnedItem(12, "item 3: approve", stop=stop),
        ReturnedItem(13),
    ]


class Look(SimpleNamespace):
    """A process whose slice asks whether to end, on a clock that the test sets."""

    def __init__(self, monkeypatch, answer=None):
        super().__init__(now=100.0, stops=False, looks=[])
        monkeypatch.setattr(workers.stop_signal, "time", SimpleNamespace(monotonic=lambda: self.now))

        def runnable_jobs(database, pools, beside):
            self.looks.append(threading.current_thread())
            if isinstance(answer, Exception):
                raise answer
            return answer or []

        monkeypatch.setattr(workers.stop_signal, "runnable_jobs", runnable_jobs)
        self.settings = Settings(drain_seconds=3.0, slice_seconds=10.0, poll_seconds=2.0)
        self.database = "the database"

    def policy(self, **options: bool) -> StopPolicy:
        return StopPolicy(self, "job", ["llm"], lambda: self.stops, **options)


def test_a_slice_says_why_it_ends(monkeypatch):
    look = Look(monkeypatch, ["other"])
    stopping, bounded, polite = look.policy(), look.policy(is_bounded=True, alone=True), look.policy()
    assert [policy() for policy in (stopping, bounded, polite)] == [0, 0, 0]
    assert [policy.reason for policy in (stopping, bounded, polite)] == ["", "", ""]
    look.now += MAX_SLICES * 10 + 1
    assert bounded() == 1 and bounded.reason == "the slice's time was over"
    polite()
    wait_until(lambda: polite() == 1, "another job waits")
    assert polite.reason == "another job's turn"
    (thread,) = look.looks
    assert thread.name == "look for others" and thread.daemon
    look.stops = True
    assert stopping() == 1 and stopping.reason == "the worker is stopping"


def test_a_database_that_cannot_be_asked_for_other_jobs_is_a_line_of_the_log(monkeypatch, caplog):
    look = Look(monkeypatch, OperationalError("away\nmore", {}, Exception("away")))
    policy = look.policy()
    look.now += 13
    policy()
    wait_until(lambda: caplog.messages, "it is said")
    assert caplog.messages == ["could not look for other jobs: (builtins.Exception) away"]
    assert policy() == 0
