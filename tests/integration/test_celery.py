"""Jobs through Celery, Redis and PostgreSQL: the same rows as without them, and messages that are not to be trusted."""

from __future__ import annotations

import base64
import json
import signal
import time
import uuid
from types import SimpleNamespace

import pytest
import redis
from sqlalchemy import func, select

from db.connection import open_database
from db.jobs import cancel, progress, resume
from db.models import CompletionRow, EpisodeRow, Item
from lumos_queue.agent import Agent
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.endpoints.base import Sampling
from lumos_queue.jobs.convert import Convert
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.settings import Settings
from lumos_queue.submission import read_rows, submit
from tests.fake_endpoint import FakeEndpoint, from_mapping
from tests.gold_agent import gold_replies
from tests.services import CeleryWorker, running_redis, wait_until
from tests.stored import run_embedded, state, stored_rows, wait_for
from workers.app import make_app
from workers.nudge import nudge

#: Of the four kinds of message, what the fake endpoint is slow with, in seconds.
SLOW = 0.15


@pytest.fixture(scope="module")
def deployed(redis_server, postgres_server, tmp_path_factory):
    """One real worker on real servers for all tests here."""
    broker_url, database_url = redis_server.fresh(), postgres_server.fresh()
    settings = Settings(broker_url=broker_url, database_url=database_url, concurrency=16)
    database = open_database(settings.database)
    folder = tmp_path_factory.mktemp("celery")
    with CeleryWorker(
        folder, "cpu,llm", broker_url=broker_url, database_url=database_url, concurrency="16",
        heartbeat_seconds="0.3",
    ) as worker:  # fmt: skip
        yield SimpleNamespace(settings=settings, database=database, worker=worker)
    database.close()


@pytest.fixture(scope="module")
def wordmath():
    return read_rows(open_benchmark("wordmath"), None, "test", False)


def evaluation(server, rows, formulation: str, limit: int) -> Evaluate:
    # A one-pass reply has no line breaks either: subgoals and actions are separated by semicolons.
    agent = Agent(roles={"planner": server.tgi, "grounder": server.tgi}, domain="maths", sampling=Sampling())
    return Evaluate(Infer("wordmath", rows.digest, "test", formulation, agent, limit=limit))


def send(deployed, job, rows) -> str:
    identifier, new = submit(deployed.database, deployed.settings, job, rows)
    assert new
    assert nudge(deployed.settings, job.kind, identifier, len(rows.tasks), job.pool)
    return identifier


@pytest.mark.parametrize("name", ["wordmath", "gsm8k"])
def test_a_conversion_stores_the_same_rows_through_celery_as_embedded(name, deployed, wordmath, tmp_path, request):
    if name == "gsm8k":
        data = request.getfixturevalue("shared_data") / "gsm8k" / "test.jsonl"
        rows = read_rows(open_benchmark("gsm8k"), data, "test", False)
    else:
        rows = wordmath
    job = Convert(name, rows.digest, "test", limit=40)
    identifier = send(deployed, job, rows)
    embedded, other = run_embedded(tmp_path, job, rows)
    wait_for(deployed.database, identifier)
    found = stored_rows(deployed.database, identifier)
    assert len(found) == 40 and sum(bool(episode["execution"]) for episode in found.values()) >= 35
    assert found == stored_rows(embedded, other)
    assert deployed.worker.said("Task convert[")


@pytest.mark.parametrize("formulation", ["iterative", "one-pass"])
def test_an_evaluation_stores_the_same_steps_through_celery_as_embedded(formulation, deployed, wordmath, tmp_path):
    replies = gold_replies(wordmath.benchmark, wordmath.tasks[:20], formulation)
    with FakeEndpoint(from_mapping(replies)) as server:
        job = evaluation(server, wordmath, formulation, 20)
        identifier = send(deployed, job, wordmath)
        wait_for(deployed.database, identifier)
        assert server.count == calls_recorded(deployed.database, identifier)
        embedded, other = run_embedded(tmp_path, job, wordmath)
    found = stored_rows(deployed.database, identifier)
    assert len(found) == 20
    assert all(episode["scores"][0][2] == 1.0 for episode in found.values()), "the gold agent must be right"
    assert found == stored_rows(embedded, other)
    assert deployed.worker.said("Task evaluate[")


def calls_recorded(database, job: str) -> int:
    with database.engine.connect() as connection:
        counted = (
            select(func.count()).select_from(CompletionRow).join(EpisodeRow, EpisodeRow.id == CompletionRow.episode)
        )
        return connection.execute(counted.where(EpisodeRow.job == job)).scalar_one()


FORGED = ["zzzzzzzz", "' OR 1=1 --", "", 7, None, ["zzzzzzzz"], {"a": 1}, "%", "x" * 100_000]


def test_messages_that_name_no_job_are_dropped_and_the_worker_stays_up(deployed, wordmath):
    app = make_app(deployed.settings.broker_url)
    for forged in FORGED:
        app.send_task("evaluate", args=[forged], queue="llm")
    app.send_task("evaluate", args=[], queue="llm")
    app.send_task("evaluate", kwargs={"job": "zzzzzzzz", "more": 1}, queue="llm")
    app.send_task("no_such_task", args=["zzzzzzzz"], queue="llm")
    job = Convert("wordmath", wordmath.digest, "test", limit=41)
    identifier = send(deployed, job, wordmath)
    # A true id in a message of another kind is no such job either; nor does it harm the job.
    app.send_task("evaluate", args=[identifier], queue="llm")
    wait_for(deployed.database, identifier)
    wait_until(lambda: deployed.worker.said(f"message dropped: '{identifier}' is no evaluate job"), "it is dropped")
    for shown in ("'zzzzzzzz'", '"\' OR 1=1 --"', "7", "None", "'%'"):
        assert deployed.worker.said(f"message dropped: {shown} is no evaluate job")
    assert deployed.worker.alive


def test_a_pickled_message_is_not_read(deployed, wordmath, tmp_path):
    trace = tmp_path / "unpickled"
    broker = redis.Redis.from_url(deployed.settings.broker_url)
    payload = (
        b"cposix\nsystem\n(S'touch " + str(trace).encode() + b"'\ntR."  # what pickle would run
    )
    broker.lpush("llm", json.dumps({
        "body": base64.b64encode(payload).decode(), "content-encoding": "binary",
        "content-type": "application/x-python-serialize",
        "headers": {"task": "evaluate", "id": str(uuid.uuid4()), "lang": "py"},
        "properties": {"delivery_tag": "1", "body_encoding": "base64",
                       "delivery_info": {"exchange": "", "routing_key": "llm"}},
    }))  # fmt: skip
    identifier = send(deployed, Convert("wordmath", wordmath.digest, "test", limit=42), wordmath)
    wait_for(deployed.database, identifier)
    wait_until(lambda: broker.llen("llm") == 0, "the message is taken")
    wait_until(lambda: deployed.worker.said("ContentDisallowed"), "it is refused")
    assert not trace.exists() and deployed.worker.alive


def test_submitting_the_same_again_shows_the_first_job(deployed, wordmath):
    job = Convert("wordmath", wordmath.digest, "test", limit=43)
    identifier = send(deployed, job, wordmath)
    assert submit(deployed.database, deployed.settings, job, wordmath) == (identifier, False)
    wait_for(deployed.database, identifier)
    assert submit(deployed.database, deployed.settings, job, wordmath) == (identifier, False)
    again, new = submit(deployed.database, deployed.settings, job, wordmath, again=True)
    assert new and again != identifier


def test_cancel_stops_a_running_job_and_resume_finishes_it_without_repeating_a_call(deployed, wordmath):
    replies = gold_replies(wordmath.benchmark, wordmath.tasks[:60], "iterative")
    with FakeEndpoint(from_mapping(replies), latency=SLOW) as server:
        identifier = send(deployed, evaluation(server, wordmath, "iterative", 60), wordmath)
        wait_until(lambda: calls_recorded(deployed.database, identifier) > 20, "the job is under way")
        assert cancel(deployed.database, identifier) == "cancelling"
        wait_for(deployed.database, identifier, "cancelled", 10)
        with deployed.database.engine.connect() as connection:
            items = progress(connection, identifier)
        assert items.get("cancelled", 0) > 0 and set(items) <= {"cancelled", "done"}
        asked = server.count
        time.sleep(1.0)
        assert server.count == asked, "a cancelled job makes no calls"
        assert resume(deployed.database, identifier) == "queued"
        assert nudge(deployed.settings, "evaluate", identifier, 60)
        wait_for(deployed.database, identifier)
        recorded = calls_recorded(deployed.database, identifier)
        # Only what was in flight at the moment of cancelling may have been asked twice.
        assert recorded <= server.count <= recorded + deployed.settings.concurrency


def test_TERM_to_the_parent_ends_the_slice_in_good_order(redis_url, postgres_url, wordmath, tmp_path):
    settings = Settings(broker_url=redis_url, database_url=postgres_url, concurrency=8)
    database = open_database(settings.database)
    replies = gold_replies(wordmath.benchmark, wordmath.tasks[:200], "iterative")
    with (
        FakeEndpoint(from_mapping(replies), latency=1.0) as server,
        CeleryWorker(tmp_path, "llm", broker_url=redis_url, database_url=postgres_url, concurrency="8") as worker,
    ):
        identifier, _ = submit(database, settings, evaluation(server, wordmath, "iterative", 200), wordmath)
        assert nudge(settings, "evaluate", identifier, 200)
        wait_until(lambda: calls_recorded(database, identifier) > 10, "the job is under way")
        began = time.monotonic()
        worker.process.send_signal(signal.SIGTERM)
        worker.process.wait(timeout=20)
        assert time.monotonic() - began < 8, "an episode takes longer than a shutdown may"
        with database.engine.connect() as connection:
            items = progress(connection, identifier)
            deaths = connection.execute(select(func.sum(Item.deaths)).where(Item.job == identifier)).scalar_one()
        assert items.get("claimed", 0) == 0 and items["owed"] > 0 and deaths == 0, items
        assert state(database, identifier) == "running"
        server.latency = 0.0
        # What remains was left a nudge: a worker that starts later goes on by itself.
        with CeleryWorker(tmp_path, "llm", broker_url=redis_url, database_url=postgres_url, concurrency="64"):
            wait_for(database, identifier, seconds=60)
        recorded = calls_recorded(database, identifier)
        assert recorded <= server.count <= recorded + settings.concurrency
    database.close()


def test_a_worker_outlives_its_broker_and_listens_again(postgres_url, wordmath, tmp_path):
    with (
        running_redis() as broker,
        CeleryWorker(tmp_path, "cpu", broker_url=broker.url, database_url=postgres_url) as worker,
    ):
        settings = Settings(broker_url=broker.url, database_url=postgres_url)
        database = open_database(settings.database)
        broker.stop()
        identifier, _ = submit(database, settings, Convert("wordmath", wordmath.digest, "test", limit=5), wordmath)
        assert nudge(settings, "convert", identifier, 5) is False
        wait_until(lambda: worker.said("Connection to broker lost"), "the worker notices", 20)
        broker.start()
        wait_until(lambda: nudge(settings, "convert", identifier, 5), "the broker takes messages again", 20)
        wait_for(database, identifier, seconds=60)
        broker.stop()
        time.sleep(1.0)
        worker.process.send_signal(signal.SIGTERM)
        worker.process.wait(timeout=20)
        database.close()
