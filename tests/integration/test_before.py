"""A database made by the code before revision 0006, with half-done jobs: it is migrated, and its jobs go on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from db.engine.connection import Database
from db.engine.migrate import current, head, require_current, upgrade
from db.queue.job_changes import resume
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.records import Task
from lumos_queue.settings import Settings
from tests.fake_endpoint import FakeEndpoint, from_mapping
from tests.faults.invariants import find_violations
from tests.gold_agent import gold_replies
from tests.integration.stored_database import jobs, load_prompt_digests, make_port_replacement, open_old, read
from tests.stored_rows import read_stored_rows, state
from workers.context import WorkerContext
from workers.dispatcher import Dispatcher

MADE = Path(__file__).with_name("before_0006.jsonl.gz")  #: made_before.py says how
ITEMS = 12


@pytest.fixture
def server() -> Iterator[FakeEndpoint]:
    """It plays the gold agent about the tasks in the old database, whatever the benchmark generates today."""
    rows = [values for table, values in read(MADE) if table == "task"]
    tasks = [Task("wordmath", row["dataset"], row["row"], row["question"], row["inputs"], row["gold"]) for row in rows]
    assert len(tasks) == ITEMS
    with FakeEndpoint(from_mapping(gold_replies(open_benchmark("wordmath"), tasks, "iterative"))) as endpoint:
        yield endpoint


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path, server) -> Iterator[Database]:
    """The old database, at its revision."""
    opened = open_old(request, tmp_path, "0005", read(MADE, make_port_replacement(server.port)))
    yield opened
    opened.close()


def go_on(database: Database, job: str) -> None:
    process = WorkerContext(
        Deployment(
            Settings(
                database_url=database.url,
                concurrency=4,
                lease_seconds=2,
                fence_seconds=1.5,
                heartbeat_seconds=0.5,
                poll_seconds=0.2,
            )
        )
    )
    try:
        Dispatcher(process, ["llm"], only=job).run(lambda: False)
    finally:
        process.close()


def endings(database: Database, job: str) -> list[str]:
    return sorted(episode["ending"] for episode in read_stored_rows(database, job).values())


def finished(database: Database) -> dict:
    return {
        (job, *place): episode
        for job in jobs(database).values()
        for place, episode in read_stored_rows(database, job).items()
        if episode["ending"]
    }


def test_it_is_migrated_and_nothing_of_it_is_lost(database):
    assert current(database) == "0005"
    with database.engine.connect() as connection:
        before = {name: connection.execute(text(f"SELECT count(*) FROM {name}")).scalar() for name, _ in read(MADE)}
    upgrade(database)
    require_current(database)
    assert current(database) == head()
    with database.engine.connect() as connection:
        after = {name: connection.execute(text(f"SELECT count(*) FROM {name}")).scalar() for name in before}
        shown = connection.execute(text("SELECT count(*), sum(calls) FROM v_episodes WHERE ending <> ''")).one()
        complete = connection.execute(text("SELECT complete FROM dataset")).scalars().all()
    assert after == before and len(before) >= 12
    assert shown[0] == len(finished(database)) == 24 and shown[1] > 60
    assert [bool(one) for one in complete] == [True]


def test_a_job_whose_worker_was_killed_goes_on_from_what_it_had_recorded(database, server):
    upgrade(database)
    job, before = jobs(database)["killed"], finished(database)
    recorded = load_prompt_digests(database, job)
    go_on(database, job)
    assert state(database, job) == "done" and endings(database, job) == ["answered"] * ITEMS
    after = finished(database)
    assert {episode: after[episode] for episode in before} == before
    # Every call is there once; those that the old code had recorded were not made again.
    assert sorted([*recorded, *(call["sha256"] for call in server.calls)]) == load_prompt_digests(database, job)
    assert not set(recorded) & {call["sha256"] for call in server.calls}
    with database.engine.connect() as connection:
        versions = text(
            "SELECT count(DISTINCT code_version), max(number) FROM attempt a JOIN episode e "
            "ON e.id = a.episode WHERE e.job = :job"
        )
        assert connection.execute(versions, {"job": job}).one()[1] == 1
        assert find_violations(connection, lease_seconds=15.0, has_witness=False) == {}


@pytest.mark.parametrize("project", ["paused", "cancelled"])
def test_a_job_that_was_stopped_stays_so_until_it_is_resumed(database, server, project):
    upgrade(database)
    job, before = jobs(database)[project], finished(database)
    recorded = load_prompt_digests(database, job)
    go_on(database, job)
    assert state(database, job) == project and server.count == 0
    resume(database, job)
    go_on(database, job)
    assert state(database, job) == "done" and endings(database, job) == ["answered"] * ITEMS
    after = finished(database)
    assert {episode: after[episode] for episode in before} == before
    assert sorted([*recorded, *(call["sha256"] for call in server.calls)]) == load_prompt_digests(database, job)


def test_an_item_in_quarantine_stays_there_until_its_job_is_resumed(database, server):
    upgrade(database)
    job = jobs(database)["deadly"]
    go_on(database, job)
    with database.engine.connect() as connection:
        found = connection.execute(text("SELECT state, deaths FROM item WHERE job = :job"), {"job": job}).all()
    assert [tuple(row) for row in found] == [("quarantined", 3)] and server.count == 0
    resume(database, job)
    go_on(database, job)
    assert state(database, job) == "done" and endings(database, job) == ["answered"]


def test_endings_that_a_refusal_had_caused_are_still_there_beside_the_answers(database):
    upgrade(database)
    job = jobs(database)["refused"]
    assert endings(database, job) == ["answered"] * (ITEMS - 2) + ["infra_error"] * 2
    told = {
        row["message"].split("answered ")[1][:3] for row in read_stored_rows(database, job).values() if row["message"]
    }
    assert told == {"403", "404"}
