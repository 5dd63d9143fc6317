"""RabbitMQ as the broker: jobs, nudges, bad messages, a dead worker, `lumos up`. All tests that need one are here."""

from __future__ import annotations

import os
import re
import signal
import socket
import threading
from collections import Counter
from types import SimpleNamespace

import pytest
from kombu import Connection

from db.engine.connection import open_database
from db.engine.migrate import upgrade
from db.queue.figures import progress
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.jobs.convert import Convert
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.prompts.agent import Agent
from lumos_queue.settings import Settings
from lumos_queue.submission.store import read_rows, submit
from tests.bad_messages import bad_messages, count_refusals, publish
from tests.fake_endpoint import FakeEndpoint, from_mapping
from tests.gold_agent import gold_replies
from tests.integration.test_deployment import fetch, running_up
from tests.services import CeleryWorker, wait_until
from tests.stored_rows import wait_for
from workers.notify import notify_workers


@pytest.fixture(scope="module")
def rows():
    return read_rows(open_benchmark("wordmath"), None, "dev", False)


@pytest.fixture
def deployed(rabbitmq_url, tmp_path):
    urls = {"broker_url": rabbitmq_url, "database_url": f"sqlite:///{tmp_path / 'lumos.db'}"}
    settings = Settings(**urls, concurrency=4)
    database = open_database(settings.database)
    upgrade(database)
    yield SimpleNamespace(settings=settings, database=database, urls=urls)
    database.close()


def send(deployed, rows, limit: int) -> str:
    job = Convert("wordmath", rows.digest, "dev", limit=limit)
    identifier, _ = submit(deployed.database, deployed.settings, job, rows)
    assert notify_workers(deployed.settings, "convert", identifier, 1, "cpu")
    return identifier


def waiting(deployed, queue: str) -> int:
    """Messages that no consumer has."""
    with Connection(deployed.settings.broker_url) as connection:
        return connection.channel().queue_declare(queue, passive=True).message_count


def test_jobs_are_done_and_bad_messages_dropped(deployed, rows, tmp_path):
    trace = tmp_path / "executed"
    messages = list(bad_messages(trace))
    expected = Counter(bad.reason for bad in messages)
    with CeleryWorker(tmp_path, "cpu", **deployed.urls) as worker:
        children = worker.children()
        wait_for(deployed.database, send(deployed, rows, 20))
        publish(deployed.settings.broker_url, messages, "cpu")
        wait_until(lambda: count_refusals(deployed.database) == expected or not worker.alive, "all are counted", 60)
        wait_for(deployed.database, send(deployed, rows, 21))
        assert worker.alive and worker.children() == children and not trace.exists()
        worker.process.send_signal(signal.SIGTERM)
        worker.process.wait(timeout=60)
    assert count_refusals(deployed.database) == expected
    assert waiting(deployed, "cpu") == 0, "what was not confirmed comes back when the worker has gone"


def test_a_nudge_outlives_the_worker_that_was_killed_while_acting_on_it(deployed, rows, tmp_path):
    """No dispatcher runs here and nobody nudges again: the broker gives the message to the next worker."""
    folders = [tmp_path / name for name in ("first", "second")]
    for folder in folders:
        folder.mkdir()
    replies = gold_replies(rows.benchmark, rows.tasks[:12], "one-pass")
    with FakeEndpoint(from_mapping(replies), latency=1.0) as server:
        agent = Agent(roles={"planner": server.tgi, "grounder": server.tgi}, domain="maths")
        job = Evaluate(Infer("wordmath", rows.digest, "dev", "one-pass", agent, limit=12))
        identifier, _ = submit(deployed.database, deployed.settings, job, rows)
        with CeleryWorker(folders[0], "llm", **deployed.urls, concurrency="4") as first:
            assert notify_workers(deployed.settings, "evaluate", identifier, 4)
            wait_until(lambda: server.count >= 4, "the job is under way", 60)
            assert waiting(deployed, "llm") == 0
            os.killpg(first.process.pid, signal.SIGKILL)
            first.process.wait()
        wait_until(lambda: waiting(deployed, "llm") == 1, "the message is back", 60)
        server.latency = 0.0
        with CeleryWorker(folders[1], "llm", **deployed.urls):
            # All but what the dead worker holds until its lease ends.
            wait_until(lambda: done(deployed, identifier) >= 8, "another worker goes on", 60)


def done(deployed, job: str) -> int:
    with deployed.database.engine.connect() as connection:
        return progress(connection, job).get("done", 0)


@pytest.mark.parametrize("scheme", ["amqp://guest:guest@", "redis://"])
@pytest.mark.parametrize("kind", ["silent", "closed"])
def test_a_nudge_to_a_broker_that_does_not_answer_is_not_taken(scheme, kind):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        if kind == "silent":  # connections are taken and nobody speaks
            listener.listen(8)
        settings = Settings(broker_url=f"{scheme}127.0.0.1:{listener.getsockname()[1]}/0")
        assert notify_workers(settings, "convert", "zzzzzzzz", 100) is False


def test_a_nudge_that_does_not_arrive_in_time_is_not_waited_for(monkeypatch):
    arrived = threading.Event()
    monkeypatch.setattr("workers.notify._send", lambda *_: arrived.wait(60))
    assert notify_workers(Settings(broker_url="redis://127.0.0.1:9/0"), "convert", "zzzzzzzz", 100) is False
    arrived.set()


@pytest.mark.long
def test_lumos_up_and_flower_work_with_it(rabbitmq_url, rows, tmp_path):
    with running_up(tmp_path, LUMOS_BROKER_URL=rabbitmq_url) as up:
        wait_until(lambda: "export LUMOS_DATABASE_URL" in up.said or up.process.poll() is not None, "lumos is up", 60)
        database_url = re.search(r"export LUMOS_DATABASE_URL=(\S+)", up.said)[1]
        settings = Settings(database_url=database_url, broker_url=rabbitmq_url)
        database = open_database(settings.database)
        job = Convert("wordmath", rows.digest, "dev", limit=50)
        identifier, _ = submit(database, settings, job, rows)
        assert notify_workers(settings, "convert", identifier, 50)
        wait_for(database, identifier)
        database.close()
        login = re.search(r"login (\S+) / (\S+)", up.said)
        tasks = f"{up.flower}/api/tasks"
        wait_until(lambda: identifier in fetch(tasks, f"{login[1]}:{login[2]}")[1].decode(), "Flower knows the job", 60)
        up.process.send_signal(signal.SIGTERM)
        assert up.process.wait(timeout=60) == 0
