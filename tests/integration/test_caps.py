"""A cap over several workers, a job that waits for a sick endpoint, a job that is paused: over real HTTP."""

from __future__ import annotations

import pytest
from sqlalchemy import func, select

from db.engine.connection import open_database
from db.engine.migrate import upgrade
from db.models import CompletionRow, EpisodeRow, Item, WorkerSessionRow
from db.queries.jobs import get_job
from db.queue.job_changes import pause, resume
from db.queue.shares import list_caps, set_cap
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.prompts.agent import Agent
from lumos_queue.settings import Settings
from lumos_queue.submission.store import read_rows, submit
from tests.fake_endpoint import FakeEndpoint, from_mapping
from tests.gold_agent import gold_replies
from tests.integration.test_dispatcher import QUICK, dispatching
from tests.services import wait_until
from tests.stored_rows import state, wait_for

TASKS = 24


@pytest.fixture(scope="module")
def rows():
    return read_rows(open_benchmark("wordmath"), None, "dev", False)


@pytest.fixture(scope="module")
def replies(rows):
    return gold_replies(rows.benchmark, rows.tasks[:TASKS], "one-pass")


@pytest.fixture(params=["sqlite", "postgresql"])
def settings(request, tmp_path):
    url = "" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    return Settings(home=tmp_path, database_url=url, concurrency=16, request_retries=3, **QUICK)


def evaluation(database, settings, rows, url: str) -> str:
    agent = Agent(roles={"planner": url, "grounder": url}, domain="maths")
    return submit(
        database, settings, Evaluate(Infer("wordmath", rows.digest, "dev", "one-pass", agent, limit=TASKS)), rows
    )[0]


def test_workers_together_keep_to_an_endpoints_cap(settings, rows, replies):
    database = open_database(settings.database)
    upgrade(database)
    with FakeEndpoint(from_mapping(replies), latency=0.1, slots=1000) as server:
        set_cap(database, server.tgi, 6)
        identifier = evaluation(database, settings, rows, server.tgi)
        with dispatching(settings), dispatching(settings):
            wait_for(database, identifier, seconds=60)
        assert server.count == 2 * TASKS
        assert 4 <= server.most_busy <= 6
    with database.engine.connect() as connection:
        assert list_caps(connection) == [(server.tgi, 6, 0, 0, False)], "who leaves holds nothing"
        assert connection.execute(select(func.count()).select_from(WorkerSessionRow)).scalar_one() == 2
        waited = select(func.max(CompletionRow.waited))
        assert connection.execute(waited).scalar_one() > 0.1, "waiting for a place is on record"
    database.close()


def test_a_job_waits_for_a_sick_endpoint_and_no_item_is_charged(settings, rows, replies):
    database = open_database(settings.database)
    upgrade(database)
    with FakeEndpoint(from_mapping(replies), latency=0.05) as server:
        identifier = evaluation(database, settings, rows, server.tgi)
        server.mode = "500"
        with dispatching(settings):

            def waiting() -> str:
                with database.engine.connect() as connection:
                    return get_job(connection, identifier).waiting

            said = wait_until(waiting, "the job waits", 30)
            assert said.startswith(f"endpoint: {server.tgi} is down") and "500" in said
            server.mode = "ok"
            wait_for(database, identifier, seconds=60)
        assert waiting() == ""
    with database.engine.connect() as connection:
        assert connection.execute(select(func.sum(Item.failures)).where(Item.job == identifier)).scalar_one() == 0
        answered = select(func.count()).where(EpisodeRow.job == identifier, EpisodeRow.ending == "answered")
        assert connection.execute(answered).scalar_one() == TASKS
    database.close()


def test_a_paused_job_asks_nothing_more_and_goes_on_where_it_was(settings, rows, replies):
    database = open_database(settings.database)
    upgrade(database)
    with FakeEndpoint(from_mapping(replies), latency=0.3, slots=8) as server:
        identifier = evaluation(database, settings, rows, server.tgi)
        with dispatching(settings):
            wait_until(lambda: server.count > 10, "the job is under way")
            assert pause(database, identifier) == "paused"

            def held() -> int:
                with database.engine.connect() as connection:
                    wanted = select(func.count()).where(Item.job == identifier, Item.state == "claimed")
                    return connection.execute(wanted).scalar_one()

            wait_until(lambda: held() == 0, "everything is given back")
            before = server.count
            with pytest.raises(pytest.fail.Exception):
                wait_until(lambda: server.count > before, "nothing is asked", 0.8)
            assert state(database, identifier) == "paused"
            assert resume(database, identifier) == "queued"
            wait_for(database, identifier, seconds=60)
        assert server.count - 2 * TASKS <= 16, "at most what was in flight was asked again"
    database.close()
