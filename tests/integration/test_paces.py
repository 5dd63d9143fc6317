"""What workers have learnt of an endpoint, and what its servers state, over processes. On SQLite and PostgreSQL."""

from __future__ import annotations

import asyncio

import pytest
from sqlalchemy import update

from db.engine.connection import now
from db.engine.lease import Lease
from db.models import Heartbeat
from db.queue.endpoint_paces import read_paces
from db.queue.fence import beat, end_session, start_session
from db.queue.shares import list_caps, set_cap
from lumos_queue.endpoints import pace
from lumos_queue.endpoints.admission import AdmissionControl
from lumos_queue.endpoints.registry import open_endpoint
from lumos_queue.endpoints.traffic import Traffic
from lumos_queue.endpoints.window import FIRST
from lumos_queue.settings import Settings
from tests.fake_endpoint import FakeEndpoint
from tests.services import wait_until
from workers.session import WorkerSession

URL = "tgi://a:1"


def report(database, window: float, seconds: float = 2.0, url: str = URL) -> int:
    """A session that has this window at the endpoint."""
    session = start_session(database, "1")
    beat(database, session, [], {url: Traffic(1, 0, window, reply_seconds=seconds)})
    return session


def paces(database) -> dict:
    with database.engine.connect() as connection:
        return read_paces(connection, [URL], Lease(15.0))


def make_older(database, session: int, seconds: float) -> None:
    with database.writer.begin() as connection:
        connection.execute(update(Heartbeat).where(Heartbeat.session == session).values(at=now() - seconds))


def test_a_new_process_begins_with_its_share_of_the_windows_of_those_that_are_alive(database):
    assert paces(database) == {}
    report(database, 32.0, seconds=2.0)
    assert paces(database) == {URL: (16.0, 2.0)}
    report(database, 16.0, seconds=4.0)
    report(database, 99.0, url="tgi://another:1")
    assert paces(database) == {URL: (16.0, 3.0)}, "48 among three"


def test_what_ended_processes_have_learnt_is_known_for_an_hour(database):
    earlier, last = report(database, 32.0), report(database, 12.0)
    for session, age in ((earlier, 600.0), (last, 300.0)):
        end_session(database, session)
        make_older(database, session, age)
    assert paces(database) == {URL: (12.0, 2.0)}, "those that used it last, and they are gone"
    make_older(database, last, 3700.0)
    assert paces(database) == {URL: (32.0, 2.0)}
    make_older(database, earlier, 3700.0)
    assert paces(database) == {}


def test_a_heartbeat_of_an_earlier_version_says_nothing_of_a_window(database):
    session = report(database, 32.0)
    with database.writer.begin() as connection:
        connection.execute(update(Heartbeat).where(Heartbeat.session == session).values(calls={URL: [3, 2]}))
    assert paces(database) == {}


def test_a_process_stores_what_it_has_learnt_and_another_begins_with_it(database, monkeypatch):
    settings = Settings(heartbeat_seconds=0.05)
    first = WorkerSession(database, settings, "1")
    gate = AdmissionControl(URL, 64)
    first.use({URL: gate})
    assert gate.window == FIRST
    gate.pace.window.start(20)
    first.leave("a job")  # the endpoint is closed, and what was learnt of it is not
    wait_until(lambda: paces(database) == {URL: (10.0, 0.0)}, "it is stored")
    first.close()
    monkeypatch.setattr(pace, "_paces", {})  # as in another process
    second = WorkerSession(database, settings, "1")
    gate = AdmissionControl(URL, 64)
    second.use({URL: gate})
    assert gate.window == 20
    second.close()


def lease(database, session: int, stated: int | None, in_flight: int = 0) -> int | None:
    statement = {URL: stated} if stated else {}
    return beat(database, session, [], {URL: Traffic(in_flight, 64 - in_flight)}, statement).shares[URL]


def caps(database) -> list:
    with database.engine.connect() as connection:
        return [(cap.requests, cap.is_stated) for cap in list_caps(connection)]


def test_what_servers_state_is_shared_as_a_cap_is_unless_a_person_has_set_one(database):
    first, second = start_session(database, "1"), start_session(database, "1")
    assert lease(database, first, 5) == 5
    assert lease(database, second, 5) == 0
    assert lease(database, first, 5, in_flight=2) in (2, 3)
    assert caps(database) == [(5, True)]
    set_cap(database, URL, 20)
    assert caps(database) == [(20, False)]
    assert lease(database, first, 5) == 10
    set_cap(database, URL, None)
    assert caps(database) == [(5, True)]
    assert lease(database, first, 10) == 5, "the server was started again with more slots"
    assert caps(database) == [(10, True)]


@pytest.mark.parametrize(("slots", "requests"), [(1, 2), (4, 5), (16, 20)])
def test_a_server_that_states_its_slots_gets_a_quarter_more_requests_at_once(slots, requests):
    async def open_and_describe(url: str) -> AdmissionControl:
        endpoint = open_endpoint(url, Settings())
        await endpoint.identity()
        await endpoint.close()
        return endpoint.admission

    with FakeEndpoint(lambda _: "fine", owner="llamacpp", stated_slots=slots) as server:
        for url in (server.openai, server.chat):
            gate = asyncio.run(open_and_describe(url))
            assert (gate.stated_slots, gate.window) == (requests, requests)
    with FakeEndpoint(lambda _: "fine") as server:
        gate = asyncio.run(open_and_describe(server.chat))
        assert (gate.stated_slots, gate.window) == (None, FIRST)


def test_the_most_that_text_generation_inference_accepts_is_an_upper_bound():
    async def open_and_describe(url: str) -> AdmissionControl:
        endpoint = open_endpoint(url, Settings())
        await endpoint.identity()
        await endpoint.close()
        return endpoint.admission

    with FakeEndpoint(lambda _: "fine", most_requests=5) as server:
        gate = asyncio.run(open_and_describe(server.tgi))
    assert (gate.stated_slots, gate.window) == (None, 5)
