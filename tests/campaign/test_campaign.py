"""What a campaign promises before it begins, and that its account refuses what it must refuse."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import pytest
from sqlalchemy import text

from db.engine.connection import open_database
from db.engine.migrate import upgrade
from db.queue.batch import Batch
from db.queue.commit import commit
from tests.campaign.account import account, count_lost_calls, count_reasons, judge_faults, judge_memory, split_ends
from tests.campaign.schedule import EACH, HOUR, KINDS, QUIET_AFTER, count_kinds, schedule
from tests.campaign.site import LATENCY
from tests.campaign.strikes import STRIKES, Event
from tests.claims import claim, finish, holder, new_job
from tests.faults import witness


def test_an_hour_has_twenty_faults_of_each_kind_or_more_the_same_for_a_seed():
    faults = schedule(7, HOUR)
    assert set(count_kinds(faults)) == set(KINDS) == set(STRIKES) and min(count_kinds(faults).values()) >= EACH == 20
    assert faults == schedule(7, HOUR) != schedule(8, HOUR)
    assert faults == sorted(faults, key=lambda fault: fault.at) and faults[-1].at < 3600 - QUIET_AFTER
    assert all(300 <= fault.status <= 599 for fault in faults if fault.kind == "status")
    assert any(second.at < first.at + first.seconds for first, second in pairwise(faults))
    assert {fault.kind for fault in schedule(7, 1.0)} == set(KINDS)


def _site(database, calls, tmp_path):
    """As much of a site as its account looks at."""
    (tmp_path / "home/logs").mkdir(parents=True, exist_ok=True)
    refused, answered = ([call for call in calls if ("status" in call) == wanted] for wanted in (True, False))
    endpoint = SimpleNamespace(calls=answered, refused=refused, endpoints=[SimpleNamespace(port=1, calls=calls)])
    return SimpleNamespace(
        database=database,
        endpoint=endpoint,
        folder=tmp_path,
        faults=[],
        expected="done",
        quarantined=0,
        failing=0,
        began=0.0,
        broker_url="",
        settings=SimpleNamespace(lease_seconds=6.0),
        ask=lambda query: _ask(database, query),
    )


def _ask(database, query):
    with database.engine.connect() as connection:
        return connection.execute(text(query)).scalar()


@pytest.fixture
def finished(tmp_path, monkeypatch):
    """A database in which a job of four items was done well."""
    database = open_database(f"sqlite:///{tmp_path / 'lumos.db'}")
    upgrade(database)
    witness.install(database)
    for trigger in witness.WRITTEN:  # they ask who writes: a worker tells, this process does not
        with database.writer.begin() as connection:
            connection.exec_driver_sql(f"DROP TRIGGER fault_{trigger}")
    job = new_job(database)
    who = holder(database, job)
    items = claim(database, who, 4)
    commit(database, who, Batch({item.id: item.claim for item in items}, finished=[finish(item) for item in items]))
    change(database, "UPDATE job SET state = 'done'")
    yield database
    database.close()


def change(database, statement: str) -> None:
    with database.writer.begin() as connection:
        connection.exec_driver_sql(statement)


def problems(database, tmp_path, calls=(), events=()) -> str:
    return "\n".join(account(_site(database, list(calls), tmp_path), list(events)).problems)


def test_a_job_done_well_is_accounted_for(finished, tmp_path):
    assert problems(finished, tmp_path) == ""


@pytest.mark.parametrize(
    ("forgery", "found"),
    [
        ("UPDATE score SET value = 0 WHERE episode = 1", "1 items lost"),
        ("UPDATE episode SET ending = 'infra_error', message = 'answered 418' WHERE id = 2", "1 items lost"),
        ("UPDATE item SET state = 'quarantined' WHERE id = 3", "'quarantined'"),
        ("UPDATE job SET state = 'running'", "1 jobs are not done"),
        ("INSERT INTO fault_stale VALUES ('score', 1, 1, '7')", "1 rows under a stale fence"),
    ],
)
def test_what_is_forged_is_found(finished, tmp_path, forgery, found):
    if "infra_error" in forgery:
        change(finished, "UPDATE score SET value = 0 WHERE episode = 2")
    change(finished, forgery)
    assert found in problems(finished, tmp_path)


def test_lost_items_are_counted_by_reason():
    rows = [["job", at, "done", "infra_error", f"http://127.0.0.1:{at}/generate answered 418", ""] for at in range(3)]
    told = count_reasons([*rows, ["job", 4, "quarantined", "", "", "3 processes died"]])
    assert told == {"done infra_error /generate answered 418": 3, "quarantined 3 processes died": 1}


def test_a_call_beyond_the_bound_or_after_its_reply_was_stored_is_found(finished, tmp_path):
    calls = [{"sha256": "a", "time": 50.0}]
    assert "1 calls wasted, at most 0 may be" in problems(finished, tmp_path, calls)
    event = Event("endpoint cut", 0.0, began=49.0, ended=51.0, endpoints=[1])
    assert problems(finished, tmp_path, calls, [event]) == ""
    change(finished, "INSERT INTO fault_recorded VALUES ('a', 40.0)")
    assert "1 recorded calls repeated" in problems(finished, tmp_path, calls, [event])
    refused = [{"sha256": "a", "time": 50.0, "status": 503}]
    assert "1 recorded calls repeated, and refused" in problems(finished, tmp_path, refused)


def test_only_what_was_under_way_is_explained_by_a_broken_link():
    cut = Event("endpoint cut", 0.0, began=100.0, ended=105.0)
    times = (100 - 2 * LATENCY - 1, 100 - LATENCY, 103.0, 107.0)
    assert count_lost_calls(times, [cut]) == 2
    assert count_lost_calls(times, [Event("endpoint delay", 0.0, began=100.0, ended=105.0)]) == 0


def test_sessions_that_ended_in_a_databases_trouble_are_told_apart():
    events = [Event("read_only", 0.0, began=100.0, ended=105.0), Event("status", 0.0, began=200.0, ended=205.0)]
    assert split_ends((99.0, 104.0, 110.0, 204.0), events) == (2, 2)


def test_faults_that_did_not_happen_and_memory_beyond_the_bound_are_found():
    events = [Event("kill", 1.0), Event("kill", 2.0, problem="nobody there")]
    assert judge_faults(events, 3.0, {"kill": 2}) == [
        "kill at 2 s: nobody there",
        "kill: 1 times, at least 2 were to be",
    ]
    assert judge_memory({"dispatcher": 501 * 2**20, "flower": 90 * 2**20}) == ["dispatcher had 501 MB"]
