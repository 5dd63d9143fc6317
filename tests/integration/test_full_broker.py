"""A Redis that answers and refuses: workers and `lumos up` wait for it, and go on when it takes messages again."""

from __future__ import annotations

import logging

import pytest
import redis

from db.engine.connection import open_database
from db.engine.migrate import upgrade
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.jobs.convert import Convert
from lumos_queue.settings import Settings
from lumos_queue.submission.store import read_rows, submit
from tests.integration.test_deployment import running_up
from tests.services import CeleryWorker, Redis, start_redis, wait_until
from tests.stored_rows import wait_for
from workers.broker_refusals import OncePerMinute, find_refusal
from workers.notify import notify_workers


@pytest.fixture
def server():
    with start_redis() as redis_server:
        yield redis_server


class Refusal:
    """A way in which Redis refuses what is written, and its end."""

    def __init__(self, server: Redis, kind: str):
        self.client, self.kind = redis.Redis(port=server.port), kind

    def begin(self) -> None:
        if self.kind == "READONLY":
            self.client.execute_command("REPLICAOF", "127.0.0.1", "1")
            return
        self.client.config_set("maxmemory-policy", "noeviction")
        self.client.config_set("maxmemory", "1mb")
        with pytest.raises(redis.exceptions.OutOfMemoryError):
            for number in range(1000):
                self.client.set(f"filler {number}", "x" * 10_000)

    def end(self) -> None:
        if self.kind == "READONLY":
            self.client.execute_command("REPLICAOF", "NO", "ONE")
        else:
            self.client.config_set("maxmemory", "64mb")


@pytest.fixture
def rows():
    return read_rows(open_benchmark("wordmath"), None, "dev", False)


def prepared(folder) -> Settings:
    settings = Settings(database_url=f"sqlite:///{folder / 'lumos.db'}")
    database = open_database(settings.database)
    upgrade(database)
    database.close()
    return settings


def check_a_message_is_acted_on(settings: Settings, rows) -> None:
    database = open_database(settings.database)
    identifier, _ = submit(database, settings, Convert("wordmath", rows.digest, "dev", limit=5), rows)
    assert notify_workers(settings, "convert", identifier, 1, "llm")
    wait_for(database, identifier)
    database.close()


@pytest.mark.parametrize("kind", ["OOM", "READONLY"])
def test_a_worker_that_starts_waits_with_one_line(server, tmp_path, rows, kind):
    settings, refusal = prepared(tmp_path).model_copy(update={"broker_url": server.url}), Refusal(server, kind)
    refusal.begin()
    worker = CeleryWorker(tmp_path, "llm", broker_url=server.url, database_url=settings.database)
    try:
        wait_until(lambda: worker.has_logged("Cannot connect") or not worker.alive, "the worker says why it waits", 60)
        assert worker.alive and worker.count_in_log("Cannot connect") == 1 and not worker.has_logged("Unrecoverable")
        refusal.end()
        with worker:
            check_a_message_is_acted_on(settings, rows)
    finally:
        worker.__exit__()


@pytest.mark.parametrize("kind", ["OOM", "READONLY"])
def test_a_worker_at_work_outlives_it_without_a_traceback(server, tmp_path, rows, kind):
    settings, refusal = prepared(tmp_path).model_copy(update={"broker_url": server.url}), Refusal(server, kind)
    with CeleryWorker(tmp_path, "llm", broker_url=server.url, database_url=settings.database) as worker:
        refusal.begin()
        database = open_database(settings.database)
        identifier, _ = submit(database, settings, Convert("wordmath", rows.digest, "dev", limit=4), rows)
        database.close()
        assert not notify_workers(settings, "convert", identifier, 1, "llm")  # it is stored, and found later
        assert worker.alive
        refusal.end()
        check_a_message_is_acted_on(settings, rows)
        assert worker.alive and worker.count_in_log("Traceback") == 0


def test_lumos_up_starts_on_a_full_redis_and_its_dispatcher_does_the_work(server, tmp_path, rows):
    refusal = Refusal(server, "OOM")
    refusal.begin()
    with running_up(tmp_path, LUMOS_BROKER_URL=server.url) as up:
        wait_until(lambda: "lumos is up" in up.said or up.process.poll() is not None, "lumos is up", 90)
        assert up.process.poll() is None, up.said
        (line,) = [line for line in up.said.splitlines() if "refuses messages" in line]
        assert "maxmemory" in line and line.endswith("Until it takes them the dispatcher does all work.")
        settings = Settings(database_url=f"sqlite:///{up.home / 'lumos.db'}")
        database = open_database(settings.database)
        identifier, _ = submit(database, settings, Convert("wordmath", rows.digest, "dev", limit=5), rows)
        wait_for(database, identifier)
        database.close()
        refusal.end()
        log = up.home / "logs" / "worker_llm.log"
        wait_until(lambda: " ready." in log.read_text(), "the worker is ready", 60)
        assert "ended with status" not in up.said


def test_a_refusal_is_found_behind_other_errors():
    try:
        try:
            raise redis.exceptions.ResponseError("MISCONF Redis is configured to save")
        except redis.exceptions.ResponseError as error:
            raise OSError("not sent") from error
    except OSError as error:
        assert find_refusal(error) == "MISCONF Redis is configured to save"
    assert find_refusal(redis.exceptions.BusyLoadingError("LOADING")) == "LOADING"
    assert find_refusal(OSError("gone")) == find_refusal(None) == ""


def test_a_repeated_line_is_logged_once_a_minute_and_without_a_traceback():
    now = [100.0]
    repeats = OncePerMinute(lambda: now[0])
    error = redis.exceptions.OutOfMemoryError("OOM")

    def record(text: str, *arguments: object) -> logging.LogRecord:
        info = (type(error), error, None)
        return logging.LogRecord("kombu.transport.redis", logging.WARNING, "x", 1, text, arguments, info)

    first = record("will retry %s", "100 %")
    assert repeats.filter(first) and first.getMessage() == "will retry 100 %: OOM" and first.exc_info is None
    assert not repeats.filter(record("will retry %s", "again")) and repeats.filter(record("another"))
    other = logging.LogRecord("celery", logging.WARNING, "x", 1, "lost (%r)", (OSError("gone"),), None)
    assert repeats.filter(other) and repeats.filter(other)
    now[0] += 60
    assert repeats.filter(record("will retry %s", "later"))
