"""PostgreSQL that takes no writes for a few seconds, as in an ordinary failover: the work goes on afterwards."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager, suppress

import psycopg
import pytest
from sqlalchemy import func, select
from sqlalchemy.exc import DBAPIError

from db.engine.connection import open_database
from db.engine.failures import as_failure
from db.engine.migrate import upgrade
from db.models import Heartbeat, Item, WorkerSessionRow
from db.queue.schedule import back_off
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.errors import DatabaseFailure, SpecError
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.prompts.agent import Agent
from lumos_queue.settings import Settings
from lumos_queue.submission.store import read_rows, submit
from tests.fake_endpoint import FakeEndpoint, from_mapping
from tests.faults.invariants import find_violations
from tests.gold_agent import gold_replies
from tests.services import start_postgres, wait_until
from tests.stored_rows import state
from workers.context import WorkerContext
from workers.dispatcher import Dispatcher
from workers.run import run_slice

QUICK = {"heartbeat_seconds": 0.2, "fence_seconds": 1.0, "lease_seconds": 2.0, "poll_seconds": 0.2}


@pytest.fixture(scope="module")
def own_server():
    """Not that of the test run: a setting of the whole server is changed."""
    with start_postgres() as server:
        yield server


@contextmanager
def read_only(server):
    """The whole server refuses writes, with SQLSTATE 25006, until the block ends."""
    server.execute("ALTER SYSTEM SET default_transaction_read_only = on")
    server.execute("SELECT pg_reload_conf()")
    try:
        yield
    finally:
        server.execute("ALTER SYSTEM RESET default_transaction_read_only")
        server.execute("SELECT pg_reload_conf()")


@pytest.mark.parametrize(
    ("times", "seconds"), [(QUICK, 3.0), ({"poll_seconds": 0.2}, 1.0)], ids=["longer than the fence", "shorter"]
)
def test_an_embedded_run_survives_seconds_without_writes(own_server, times, seconds):
    rows = read_rows(open_benchmark("wordmath"), None, "dev", False)
    settings = Settings(database_url=own_server.fresh(), concurrency=8, **times)
    database = open_database(settings.database)
    replies = gold_replies(rows.benchmark, rows.tasks[:60], "iterative")
    with FakeEndpoint(from_mapping(replies), latency=0.1) as server:
        agent = Agent(roles={"planner": server.tgi, "grounder": server.tgi}, domain="maths")
        job = Evaluate(Infer("wordmath", rows.digest, "dev", "iterative", agent, limit=60))
        identifier, _ = submit(database, settings, job, rows)
        stop, process = threading.Event(), WorkerContext(Deployment(settings))
        run = threading.Thread(target=Dispatcher(process, ["llm"], only=identifier).run, args=(stop.is_set,))
        run.start()
        try:
            wait_until(lambda: server.count > 20, "the job is under way")
            with read_only(own_server):
                time.sleep(seconds)
            wait_until(lambda: not run.is_alive(), "the run has ended", 60)
            assert state(database, identifier) == "done"
        finally:
            stop.set()
            run.join(20)
            process.close()
        with database.engine.connect() as connection:
            assert find_violations(connection, settings.lease_seconds, has_witness=False) == {}
            done = select(func.count()).where(Item.job == identifier, Item.state == "done")
            assert connection.execute(done).scalar() == 60
            assert not connection.execute(select(WorkerSessionRow.id).where(WorkerSessionRow.ended_at.is_(None))).all()
    database.close()


@pytest.mark.parametrize("where", ["begin_work", "finish_if_idle", "reset_backoff", "back_off"])
@pytest.mark.parametrize("code", ["25006", "42501"])
def test_a_slice_that_ends_out_of_order_leaves_a_session_that_beats_no_more(tmp_path, monkeypatch, where, code):
    """Even if its end cannot be written: then its items come back when the lease ends."""
    rows = read_rows(open_benchmark("wordmath"), None, "dev", False)
    settings = Settings(home=tmp_path, concurrency=2, **{**QUICK, "heartbeat_seconds": 0.05})
    database = open_database(settings.database)
    upgrade(database)

    def failing(*_: object, **__: object) -> None:
        error = psycopg.errors.lookup(code)("no")
        raise as_failure(DBAPIError.instance("UPDATE", {}, error, psycopg.Error))

    with FakeEndpoint(from_mapping(gold_replies(rows.benchmark, rows.tasks[:4], "iterative"))) as server:
        agent = Agent(roles={"planner": server.tgi, "grounder": server.tgi}, domain="maths")
        job = Evaluate(Infer("wordmath", rows.digest, "dev", "iterative", agent, limit=4))
        identifier, _ = submit(database, settings, job, rows)
        if where == "reset_backoff":
            back_off(database, identifier, "earlier", 0.0)
        process = WorkerContext(Deployment(settings))
        monkeypatch.setattr("workers.run." + where, failing)
        if where == "back_off":  # which is called after another failure
            monkeypatch.setattr("workers.run.begin_work", lambda *_: (_ for _ in ()).throw(SpecError("cannot start")))
        monkeypatch.setattr("workers.session.end_session", failing)
        with suppress(DatabaseFailure):
            run_slice(process, identifier, lambda: False)
        beats = select(func.max(Heartbeat.at))
        with database.engine.connect() as connection:
            time.sleep(0.1)  # one that was under way
            last = connection.execute(beats).scalar()
        time.sleep(0.3)
        with database.engine.connect() as connection:
            assert connection.execute(beats).scalar() == last
        process.close()
    database.close()
