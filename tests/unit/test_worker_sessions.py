"""A worker session on SQLite: what it stores, when its process may write, and when it is given up."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest
from sqlalchemy import select, update

import workers.session
from db.engine.connection import now
from db.engine.lease import HUNG_LEASES
from db.kinds.pools import Gpus
from db.models import EndpointCap, EndpointShare, Heartbeat, Item, WorkerSessionRow
from db.queries.jobs import get_job
from db.queue.claims import LeaseHolder
from db.queue.fence import beat, start_session
from db.queue.job_changes import pause
from db.queue.shares import set_cap
from lumos_queue.endpoints.admission import AdmissionControl
from lumos_queue.endpoints.traffic import Traffic
from lumos_queue.errors import DatabaseUnavailable
from lumos_queue.settings import Settings
from tests.claims import claim, new_job
from tests.pretended_gpus import pretend_gpus
from tests.services import wait_until
from workers import gpus
from workers.session import WorkerSession

#: No heartbeat during a test, and many of them.
QUIET = Settings(heartbeat_seconds=3600.0, fence_seconds=7200.0, lease_seconds=9000.0)
QUICK = Settings(heartbeat_seconds=0.01, fence_seconds=100.0, lease_seconds=200.0)
URL, OTHER_URL = "tgi://a:1", "tgi://b:1"
AWAY = DatabaseUnavailable("away")


@pytest.fixture
def begin(database):
    """Begin a session, which the end of the test closes."""
    sessions: list[WorkerSession] = []

    def begin(settings: Settings = QUIET, **options) -> WorkerSession:
        sessions.append(WorkerSession(database, settings, "1", **options))
        return sessions[-1]

    yield begin
    for session in sessions:
        session.close()


@pytest.fixture
def clock(monkeypatch):
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(workers.session, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


@pytest.fixture
def unknown_gpus(monkeypatch):
    monkeypatch.setattr(gpus, "_answer", bytearray(len(gpus._answer)))


@pytest.fixture
def beats(monkeypatch):
    """The arguments of each heartbeat, which the database stores as usual."""
    beats: list[tuple] = []

    def count(*arguments):
        beats.append(arguments[1:])
        return beat(*arguments)

    monkeypatch.setattr(workers.session, "beat", count)
    return beats


def wait_for_beats(beats: list[tuple], count: int) -> None:
    """Wait until `count` further heartbeats have begun."""
    target = len(beats) + count
    wait_until(lambda: len(beats) >= target, "it beats", every=0.005)


def read_session(database, session: int):
    with database.engine.connect() as connection:
        return connection.execute(select(WorkerSessionRow.__table__).where(WorkerSessionRow.id == session)).one()


def read_heartbeat(database, session: int):
    with database.engine.connect() as connection:
        return connection.execute(select(Heartbeat.__table__).where(Heartbeat.session == session)).one()


def set_heartbeat(database, session: int, seconds_ago: float) -> None:
    with database.writer.begin() as connection:
        statement = update(Heartbeat).where(Heartbeat.session == session)
        connection.execute(statement.values(at=now() - seconds_ago))


def find_thread(session: WorkerSession) -> threading.Thread:
    return session._thread


def test_a_session_is_stored_with_its_version_its_pools_and_its_gpus(database, tmp_path, monkeypatch, unknown_gpus):
    monkeypatch.setenv("PYTHONPATH", pretend_gpus(tmp_path / "torch", [24_000, 16_000]))
    assert gpus.find_gpus(tmp_path) == Gpus(2, 16_000)
    session = WorkerSession(database, QUIET, "1.2", ["cpu", "gpu"])
    row = read_session(database, session.id)
    assert (row.code_version, row.pools, row.gpus, row.gpu_mib, row.ended_at) == ("1.2", "cpu,gpu", 2, 16_000, None)
    assert (session.code_version, session.settings, session.database) == ("1.2", QUIET, database)
    thread = find_thread(session)
    assert thread.name == "heartbeat" and thread.daemon and thread.is_alive()
    assert not session.lost and not session.working and session.states == {}
    session.close()
    assert read_session(database, session.id).ended_by == "itself" and not thread.is_alive()


def test_a_session_serves_all_pools_if_none_are_named(database, begin):
    assert read_session(database, begin().id).pools == "cpu,llm,gpu"


def test_gpus_that_become_known_later_are_stored_once_with_a_heartbeat(
    database, begin, beats, tmp_path, monkeypatch, unknown_gpus
):
    stores = []
    record_gpus = workers.session.record_gpus
    monkeypatch.setattr(
        workers.session, "record_gpus", lambda *arguments: stores.append(arguments[1:]) or record_gpus(*arguments)
    )
    session = begin(QUICK)
    wait_for_beats(beats, 2)
    assert read_session(database, session.id).gpus is None and stores == []
    monkeypatch.setenv("PYTHONPATH", pretend_gpus(tmp_path / "torch", [24_000]))
    gpus.find_gpus(tmp_path)
    wait_until(lambda: read_session(database, session.id).gpus == 1, "they are stored")
    wait_for_beats(beats, 3)
    assert read_session(database, session.id).gpu_mib == 24_000 and stores == [(session.id, Gpus(1, 24_000))]


def test_a_process_may_not_write_after_the_fence_or_when_it_was_declared_lost(begin, clock):
    session = begin()
    clock.now += QUIET.fence_seconds
    assert session.lost is False
    clock.now += 0.1
    assert session.lost is True
    clock.now -= 1000.0
    assert session.lost is False
    session.declare_lost()
    assert session.lost is True


def test_the_fence_is_counted_from_the_start_of_the_last_heartbeat(begin, clock, monkeypatch):
    session = begin()

    def take_long(*arguments):
        clock.now += 50.0
        return beat(*arguments)

    monkeypatch.setattr(workers.session, "beat", take_long)
    clock.now += 300.0
    session.use({URL: AdmissionControl(URL, 2)})
    clock.now = 1300.0 + QUIET.fence_seconds
    assert session.lost is False
    clock.now += 0.1
    assert session.lost is True


def test_a_session_works_while_it_has_a_job(begin):
    session = begin()
    for job in ("first", "second"):
        session.work_on(job)
        session.states[job] = "running"
    session.leave("first")
    assert session.working is True and session.states == {"second": "running"}
    session.leave("second")
    assert session.working is False and session.states == {}
    session.leave("second")


def test_a_heartbeat_brings_the_states_of_the_jobs_that_run_here(database, begin, beats):
    first, second = new_job(database), new_job(database, digest="cd" * 32)
    session = begin(QUICK)
    for job in (first, second):
        session.work_on(job)
    wait_until(lambda: session.states == {first: "queued", second: "queued"}, "it has the states")
    assert beats[-1][1] == sorted([first, second])
    pause(database, second)
    wait_until(lambda: session.states[second] == "paused", "it has the new state")


def test_a_silent_process_is_named_when_it_is_declared_dead(database, begin, caplog):
    silent, dead = start_session(database, "1"), start_session(database, "1")
    session = begin()
    session.reap()
    assert caplog.messages == []
    for number in (silent, dead):
        set_heartbeat(database, number, QUIET.lease_seconds + 60)
    session.reap()
    assert caplog.messages == [
        f"worker session {number} was silent too long: its items are pending again" for number in (silent, dead)
    ]
    assert read_session(database, dead).ended_by == f"session {session.id}"
    assert read_session(database, session.id).ended_by == ""


def test_silent_processes_are_looked_for_at_the_first_heartbeat_and_three_times_in_a_lease(
    begin, beats, clock, monkeypatch
):
    looks: list[float] = []
    monkeypatch.setattr(WorkerSession, "reap", lambda self: looks.append(clock.now))
    begin(QUICK)
    third = QUICK.lease_seconds / 3
    for moment, expected in (
        (1000.0, [1000.0]),
        (1000.0 + third - 1, [1000.0]),
        (1000.0 + third, [1000.0, 1000.0 + third]),
        (1000.0 + 2 * third - 1, [1000.0, 1000.0 + third]),
    ):
        clock.now = moment
        wait_for_beats(beats, 3)
        assert looks == expected


def test_a_heartbeat_that_fails_is_logged_and_the_next_is_sent(begin, monkeypatch, caplog):
    failures = []

    def fail(*arguments):
        failures.append(arguments)
        raise AWAY

    monkeypatch.setattr(workers.session, "beat", fail)
    session = begin(QUICK)
    wait_until(lambda: len(failures) >= 3, "it beats again")
    session.close()
    assert set(caplog.messages) == {"heartbeat failed: away"} and not session.lost


def test_a_session_that_was_declared_dead_sends_no_more_heartbeats(database, begin, beats):
    session = begin(QUICK)
    with database.writer.begin() as connection:
        statement = update(WorkerSessionRow).where(WorkerSessionRow.id == session.id)
        connection.execute(statement.values(ended_at=now(), ended_by="session 99"))
    thread = find_thread(session)
    wait_until(lambda: not thread.is_alive(), "it ends")
    assert session.lost
    count = len(beats)
    session.close()
    assert len(beats) == count and read_session(database, session.id).ended_by == "session 99"


def test_a_lost_session_is_ended_in_the_database_as_soon_as_that_answers(database, begin, beats, monkeypatch, caplog):
    ends, end_session = [], workers.session.end_session

    def fail_once(*arguments):
        ends.append(arguments[1:])
        if len(ends) == 1:
            raise AWAY
        end_session(*arguments)

    monkeypatch.setattr(workers.session, "end_session", fail_once)
    session = begin(QUICK)
    wait_for_beats(beats, 1)
    session.declare_lost()
    thread = find_thread(session)
    wait_until(lambda: not thread.is_alive(), "it ends")
    assert read_session(database, session.id).ended_by == "itself"
    session.close()
    assert ends == [(session.id, False)] * 2, "it is ended once"
    assert caplog.messages == [f"could not end worker session {session.id}: away"]


def test_a_process_that_hangs_sends_no_heartbeat_until_its_loop_moves(database, begin, beats, clock, caplog):
    session = begin(QUICK)
    session.work_on("job")
    wait_for_beats(beats, 2)
    clock.now += QUICK.fence_seconds
    wait_for_beats(beats, 3)
    assert caplog.messages == [], "so long a pause is allowed"
    clock.now += 0.1
    wait_until(lambda: len(caplog.messages) > 3, "it is logged")
    count = len(beats)
    wait_until(lambda: len(caplog.messages) > 6, "it is logged again")
    assert len(beats) == count and set(caplog.messages) == {"the event loop hangs: heartbeat withheld"}
    session.mark_loop_alive()
    wait_for_beats(beats, 2)
    session.leave("job")
    clock.now += 10 * QUICK.lease_seconds
    wait_for_beats(beats, 2)
    assert not session.lost, "without a job no loop can hang"
    session.work_on("job")
    wait_for_beats(beats, 2)


def test_a_process_that_hangs_for_four_leases_is_given_up(begin, beats, clock, caplog):
    problems: list[str] = []
    session = begin(QUICK, on_hang=problems.append)
    session.work_on("job")
    wait_for_beats(beats, 1)
    clock.now += HUNG_LEASES * QUICK.lease_seconds
    wait_until(lambda: len(caplog.messages) > 3, "it is logged")
    assert problems == [] and HUNG_LEASES == 4
    clock.now += 1.0
    thread = find_thread(session)
    wait_until(lambda: not thread.is_alive(), "it ends")
    assert problems == ["the event loop hangs for 13 min"]


@pytest.mark.parametrize(("end", "batch"), [(WorkerSession.close, 0), (WorkerSession.give_up, 1)])
def test_the_items_of_a_process_that_hangs_are_suspects_and_those_of_a_process_that_ends_are_not(
    database, begin, end, batch
):
    job = new_job(database, tasks=2)
    session = begin()
    with database.engine.connect() as connection:
        claim(database, LeaseHolder(session.id, "1", get_job(connection, job)))
    end(session)
    with database.engine.connect() as connection:
        items = connection.execute(select(Item.state, Item.batch)).all()
    assert [tuple(item) for item in items] == [("owed", batch)] * 2
    assert session.lost is bool(batch) and read_session(database, session.id).ended_by == "itself"
    wait_until(lambda: not find_thread(session).is_alive(), "its thread ends")


def test_a_process_begins_with_its_share_of_the_pace_that_others_have_measured(database, begin):
    other = start_session(database, "1")
    beat(database, other, [], {URL: Traffic(window=8.0, reply_seconds=2.0), OTHER_URL: Traffic(window=8.0)})
    gate, measured, new = AdmissionControl(URL, 100), AdmissionControl(OTHER_URL, 100), AdmissionControl("tgi://c:1", 7)
    measured.pace.start(30.0, 5.0)
    begin().use({URL: gate, OTHER_URL: measured, "tgi://c:1": new})
    assert (gate.pace.window.size, gate.pace.reply_seconds, gate.pace.is_new) == (4.0, 2.0, False)
    assert (measured.pace.window.size, measured.pace.reply_seconds) == (30.0, 5.0), "its own pace stays"
    assert new.pace.is_new, "nobody has measured it"


def test_a_process_gets_a_share_of_a_cap_at_once_and_gives_it_back_when_it_leaves(database, begin, beats):
    set_cap(database, URL, 10)
    gate, free = AdmissionControl(URL, 2), AdmissionControl(OTHER_URL, 2)
    free.set_share(3)
    session = begin(QUICK)
    session.work_on("job")
    session.use({URL: gate, OTHER_URL: free})
    assert (gate.share, free.share) == (10, None)
    session.leave("job")
    wait_for_beats(beats, 2)
    with database.engine.connect() as connection:
        assert connection.execute(select(EndpointShare.url)).all() == []


def test_a_cap_that_servers_state_is_stored_and_no_other(database, begin):
    gate, silent = AdmissionControl(URL, 100), AdmissionControl(OTHER_URL, 100)
    gate.set_stated(6)
    begin().use({URL: gate, OTHER_URL: silent})
    with database.engine.connect() as connection:
        rows = connection.execute(select(EndpointCap.url, EndpointCap.stated)).all()
    assert [tuple(row) for row in rows] == [(URL, 6)] and gate.share == 6


def test_paces_of_earlier_slices_are_reported_for_an_hour(database, begin, beats, monkeypatch):
    gate, old, present = AdmissionControl(URL, 100), AdmissionControl(OTHER_URL, 100), AdmissionControl("tgi://c:1", 5)
    for pace in (gate.pace, old.pace):
        pace.start(30.0, 5.0)
    session = begin(QUICK)
    session.use({URL: gate})
    session.use({OTHER_URL: old})
    session.use({"tgi://c:1": present})
    wait_for_beats(beats, 2)
    calls = read_heartbeat(database, session.id).calls
    assert {url: Traffic(*use).window for url, use in calls.items()} == {
        URL: 30.0,
        OTHER_URL: 30.0,
        "tgi://c:1": present.pace.report().window,
    }
    assert list(beats[-1][2]) == ["tgi://c:1"], "traffic of the present slice alone counts for shares"
    old.pace.used_at -= 3700.0
    present.pace.used_at -= 3700.0
    wait_for_beats(beats, 2)
    assert set(read_heartbeat(database, session.id).calls) == {URL, "tgi://c:1"}
    session.use({})
    wait_for_beats(beats, 2)
    assert set(read_heartbeat(database, session.id).calls) == {URL}
