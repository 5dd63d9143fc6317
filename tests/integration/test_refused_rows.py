"""Rows that the database refuses: the item they are of ends with the reason, and all others get done."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from sqlalchemy import select, text

from db.journal.episode_journal import EpisodeJournal
from db.models import CompletionRow, EpisodeRow, Item
from db.queries.jobs import get_job
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.prompts.agent import Agent
from lumos_queue.settings import Settings
from lumos_queue.submission.store import read_rows, submit
from tests.fake_endpoint import FakeEndpoint, from_mapping
from tests.faults.invariants import find_violations
from tests.gold_agent import gold_replies
from workers.context import WorkerContext
from workers.dispatcher import Dispatcher
from workers.writer import MAX_CLAIMS

QUICK = {"heartbeat_seconds": 0.2, "fence_seconds": 2.0, "lease_seconds": 3.0, "poll_seconds": 0.2}
ITEMS = 24
UNSCORED = "I1 an accepted result is scored once, anything else never"  # infra_error is no result to score


@pytest.fixture
def run(database, monkeypatch):
    """Runs a job embedded, on a database that refuses what `refuse(sql condition)` says; until `until` or its end."""
    monkeypatch.setattr("workers.run.FAULT_SECONDS", 0.3)
    rows = read_rows(open_benchmark("wordmath"), None, "dev", False)

    def go(until=None, items: int = ITEMS, concurrency: int = 8, seconds: float = 40.0):
        settings = Settings(database_url=database.url, concurrency=concurrency, **QUICK)
        with FakeEndpoint(from_mapping(gold_replies(rows.benchmark, rows.tasks[:items], "iterative"))) as server:
            agent = Agent(roles={"planner": server.tgi, "grounder": server.tgi}, domain="maths")
            job = Evaluate(Infer("wordmath", rows.digest, "dev", "iterative", agent, limit=items))
            identifier, _ = submit(database, settings, job, rows)
            process = WorkerContext(Deployment(settings))
            stop, began = False, time.monotonic()

            def told() -> bool:
                nonlocal stop
                late = time.monotonic() - began > seconds
                stop = stop or late or bool(until and until(identifier))
                return stop

            try:
                Dispatcher(process, ["llm"], only=identifier).run(told)
            finally:
                process.close()
        with database.engine.connect() as connection:
            return get_job(connection, identifier), connection.execute(
                select(Item.ordinal, Item.state, Item.failures, EpisodeRow.ending, EpisodeRow.message, EpisodeRow.calls)
                .join(EpisodeRow, EpisodeRow.id == Item.id)
                .where(Item.job == identifier)
                .order_by(Item.ordinal)
            ).all()

    return go


def refuse(database, condition: str, table: str = "completion", state: str = "22003") -> None:
    """Rows of the table that meet the condition (of NEW) are refused from now on."""
    with database.writer.begin() as connection:
        if database.is_sqlite:
            connection.execute(
                text(
                    f"CREATE TRIGGER refusing BEFORE INSERT ON {table} WHEN {condition} "
                    "BEGIN SELECT RAISE(ABORT, 'out of range'); END"
                )
            )
        else:
            connection.execute(
                text(
                    f"CREATE FUNCTION refusing() RETURNS trigger AS $$ BEGIN IF {condition} THEN "
                    f"RAISE EXCEPTION 'out of range' USING ERRCODE = '{state}'; END IF; RETURN NEW; END $$ "
                    "LANGUAGE plpgsql"
                )
            )
            connection.execute(
                text(f"CREATE TRIGGER refusing BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION refusing()")
            )


def of_item(ordinal: int, also: str = "NEW.position > 1") -> str:
    return f"{also} AND NEW.episode IN (SELECT id FROM item WHERE ordinal = {ordinal})"


def test_the_item_of_a_refused_row_ends_and_all_others_are_done(database, run):
    refuse(database, of_item(5))
    job, items = run()
    assert job.state == "done"
    guilty = items[5]
    assert guilty.state == "done" and guilty.ending == "infra_error" and "out of range" in guilty.message
    assert database.is_sqlite or "22003" in guilty.message
    assert {(row.state, row.ending, row.failures) for row in items if row.ordinal != 5} == {("done", "answered", 0)}
    with database.engine.connect() as connection:
        assert set(find_violations(connection, 3.0, has_witness=False)) <= {UNSCORED}


def test_a_refused_first_row_loses_no_text_that_others_need(database, run):
    refuse(database, of_item(0, "NEW.position = 0"))
    job, items = run()
    assert job.state == "done" and [row.ordinal for row in items if row.ending == "infra_error"] == [0]
    with database.engine.connect() as connection:
        assert set(find_violations(connection, 3.0, has_witness=False)) <= {UNSCORED}


def test_a_database_that_refuses_everything_charges_no_item(database, run):
    refuse(database, "NEW.position >= 0")

    def waiting(job: str) -> bool:
        with database.engine.connect() as connection:
            return get_job(connection, job).waits >= 2

    job, items = run(until=waiting)
    assert job.waits >= 2 and "out of range" in job.waiting and job.state == "running"
    assert {(row.ending, row.failures) for row in items} == {("", 0)}
    assert not {row.state for row in items} & {"claimed", "done"}


def test_an_item_alone_that_is_always_refused_ends_at_last(database, run):
    refuse(database, of_item(0, "NEW.position = 0"))
    job, items = run(items=1)
    assert job.state == "done" and items[0].ending == "infra_error"
    with database.engine.connect() as connection:
        assert connection.execute(select(Item.claim)).scalar_one() == MAX_CLAIMS, (
            "until then the database may be to blame"
        )


def test_an_error_of_no_row_makes_the_job_wait_with_its_reason(database, run):
    with database.writer.begin() as connection:
        connection.execute(text("ALTER TABLE subgoal RENAME TO elsewhere"))

    def waiting(job: str) -> bool:
        with database.engine.connect() as connection:
            return get_job(connection, job).waits >= 1

    job, items = run(until=waiting)
    assert "subgoal" in job.waiting
    assert {(row.ending, row.failures) for row in items} == {("", 0)}


def test_a_value_that_no_database_could_take_ends_its_item_alone(database, run, monkeypatch):
    """NaN is no JSON, 2**70 no integer, a lone surrogate no UTF-8: refused before the database sees them."""
    first, record = {}, EpisodeJournal._record_completion

    def spoilt(self, place, ask, done, step):
        odd = first.setdefault("episode", place[0]) == place[0] and place[2] > 1
        record(self, place, ask, replace(done, seconds=float("nan")) if odd else done, step)

    monkeypatch.setattr(EpisodeJournal, "_record_completion", spoilt)
    job, items = run()
    assert job.state == "done"
    (guilty,) = [row for row in items if row.ending == "infra_error"]
    assert "ValueError" in guilty.message or "NOT NULL" in guilty.message  # SQLite takes NaN for NULL
    with database.engine.connect() as connection:
        stored = select(CompletionRow.episode).join(Item, Item.id == CompletionRow.episode)
        assert len(connection.execute(stored.where(Item.ordinal == guilty.ordinal)).all()) == guilty.calls
