"""What anybody may put into a queue of Redis: nothing of it is executed, all of it is counted, the worker stays up."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
import redis

from db.engine.connection import open_database
from db.engine.migrate import upgrade
from db.queue.rejection_counts import add_rejected
from db.queue.sessions import list_refused_messages
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.jobs.convert import Convert
from lumos_queue.settings import Settings
from lumos_queue.submission.store import read_rows, submit
from tests.bad_messages import BAD_ENVELOPES, Bad, bad_messages, body, count_refusals, headers, publish
from tests.services import CeleryWorker, wait_until
from tests.stored_rows import wait_for
from workers.notify import notify_workers
from workers.rejection_counter import RejectedMessageCounter
from workers.validation import describe_message


@pytest.fixture(scope="module")
def deployed(redis_server, tmp_path_factory):
    """One real worker on a real Redis for all tests here."""
    folder = tmp_path_factory.mktemp("messages")
    broker_url, database_url = redis_server.fresh(), f"sqlite:///{folder / 'lumos.db'}"
    settings = Settings(broker_url=broker_url, database_url=database_url)
    database = open_database(settings.database)
    upgrade(database)
    with CeleryWorker(folder, "llm", broker_url=broker_url, database_url=database_url) as worker:
        client = redis.Redis.from_url(broker_url)
        yield SimpleNamespace(settings=settings, database=database, worker=worker, client=client)
    database.close()


@pytest.fixture(scope="module")
def rows():
    return read_rows(open_benchmark("wordmath"), None, "dev", False)


def check_it_works(deployed, rows, limit: int) -> str:
    """A job sent now is done; returns its id."""
    job = Convert("wordmath", rows.digest, "dev", limit=limit)
    identifier, new = submit(deployed.database, deployed.settings, job, rows)
    assert new and notify_workers(deployed.settings, "convert", identifier, 1, "llm")
    wait_for(deployed.database, identifier)
    return identifier


def wait_for_counts(deployed, before: dict[str, int], expected: Counter) -> None:
    def arrived() -> bool:
        now = count_refusals(deployed.database)
        return all(now.get(reason, 0) - before.get(reason, 0) == number for reason, number in expected.items())

    wait_until(lambda: arrived() or not deployed.worker.alive, "all are counted", 60)
    assert arrived(), (count_refusals(deployed.database), deployed.worker.log.read_text()[-3000:])


def test_bad_messages_are_counted_by_reason_and_dropped_and_nothing_of_them_is_executed(deployed, rows, tmp_path):
    trace = tmp_path / "executed"
    messages = list(bad_messages(trace))
    before, children = count_refusals(deployed.database), deployed.worker.children()
    publish(deployed.settings.broker_url, messages, "llm")
    wait_for_counts(deployed, before, Counter(bad.reason for bad in messages))
    identifier = check_it_works(deployed, rows, 3)
    # A true id in a message of another kind is forged too; it does not harm the job.
    publish(deployed.settings.broker_url, [Bad("forged", body(identifier), headers("evaluate"))], "llm")
    wait_until(lambda: deployed.worker.has_logged(f"no evaluate job has the id '{identifier}'"), "it is refused", 10)
    assert not trace.exists()
    assert deployed.worker.alive and deployed.worker.children() == children
    assert deployed.client.llen("llm") == 0 and deployed.client.hlen("unacked") == 0


def test_elements_of_a_queue_that_are_no_messages_do_not_end_the_worker(deployed, rows):
    before, children = count_refusals(deployed.database), deployed.worker.children()
    for element in BAD_ENVELOPES:
        deployed.client.lpush("llm", element)
    wait_for_counts(deployed, before, Counter({"unreadable envelope": len(BAD_ENVELOPES)}))
    check_it_works(deployed, rows, 4)
    assert deployed.worker.alive and deployed.worker.children() == children


def test_bad_commands_to_all_workers_do_not_end_one(deployed, rows):
    number = deployed.client.connection_pool.connection_kwargs["db"]
    for element in BAD_ENVELOPES:
        assert deployed.client.publish(f"/{number}.celery.pidbox", element) >= 1
    check_it_works(deployed, rows, 5)
    assert deployed.worker.alive


def test_a_flood_costs_few_writes_and_little_log(deployed, rows):
    before, size = count_refusals(deployed.database), deployed.worker.log.stat().st_size
    publish(deployed.settings.broker_url, [Bad("unknown Celery task", body(""), headers("x"))] * 1000, "llm")
    wait_for_counts(deployed, before, Counter({"unknown Celery task": 1000}))
    assert deployed.worker.log.stat().st_size - size < 20_000
    check_it_works(deployed, rows, 6)


def test_a_message_is_described_without_its_body_and_without_control_characters(deployed):
    bad = Bad("unknown Celery task", b"secret", headers("a\x1b[31m\nb" + "x" * 500))
    publish(deployed.settings.broker_url, [bad], "llm")

    def latest() -> str:
        with deployed.database.engine.connect() as connection:
            return {row.reason: row.latest for row in list_refused_messages(connection)}.get("unknown Celery task", "")

    wait_until(lambda: "6 bytes" in latest(), "it is counted", 10)
    assert latest().startswith("queue llm, application/json, 6 bytes, task a?[31m?bxxx")
    assert len(latest()) <= 200 and "secret" not in latest()


def test_counts_are_added_up_in_both_databases(database):
    add_rejected(database, {"b": (2, "first"), "a": (1, "only")})
    add_rejected(database, {"b": (3, "second")})
    assert count_refusals(database) == {"a": 1, "b": 5}
    with database.engine.connect() as connection:
        assert [row.latest for row in list_refused_messages(connection)] == ["only", "second"]


def test_counts_wait_for_a_database_that_does_not_answer(tmp_path, monkeypatch):
    monkeypatch.setattr("workers.rejection_counter.AGAIN_SECONDS", 0.1)
    file = tmp_path / "folder" / "lumos.db"
    file.parent.touch()  # a file where the folder should be: nothing can be opened there
    refusals = RejectedMessageCounter(Settings(database_url=f"sqlite:///{file}"))
    refusals.add("forged", "one")
    refusals.add("forged", "two")
    Path(file.parent).unlink()
    database = open_database(f"sqlite:///{file}")
    upgrade(database)
    refusals.add("forged", "three")
    wait_until(lambda: count_refusals(database) == {"forged": 3}, "they are written", 10)
    refusals.close()
    database.close()


def test_a_description_never_fails():
    strange = SimpleNamespace(headers=[1], body=None, delivery_info=None, content_type=None)
    assert describe_message(strange) == "queue , None, 0 bytes, task None"
