"""What the dispatcher is for: the broker or the database goes away, and the work is done all the same."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import contextmanager

import pytest

from db.engine.connection import open_database
from db.engine.migrate import upgrade
from db.queue.batch import Batch, ReturnedItem
from db.queue.commit import commit
from db.queue.figures import progress
from db.queue.job_changes import cancel, pause, remove
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.jobs.convert import Convert
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.prompts.agent import Agent
from lumos_queue.settings import Settings
from lumos_queue.submission.store import read_rows, submit
from tests.claims import claim, finish, holder, new_job
from tests.fake_endpoint import FakeEndpoint, from_mapping
from tests.faults.invariants import find_violations
from tests.gold_agent import gold_replies
from tests.services import free_port, wait_until
from tests.stored_rows import state, wait_for
from workers.app import POOLS, make_app
from workers.context import WorkerContext
from workers.dispatcher import Dispatcher
from workers.notify import notify_workers

QUICK = {"heartbeat_seconds": 0.2, "poll_seconds": 0.2}
EXPIRING = {**QUICK, "fence_seconds": 1.0, "lease_seconds": 2.0}  #: where a lease is to run out


@pytest.fixture(scope="module")
def rows():
    return read_rows(open_benchmark("wordmath"), None, "dev", False)


@contextmanager
def dispatching(settings: Settings, patience: float = 0.0):
    """A dispatcher in a thread of this process, as `lumos worker` runs it."""
    stop, process = threading.Event(), WorkerContext(Deployment(settings))
    thread = threading.Thread(target=Dispatcher(process, ["cpu", "llm"], patience=patience).run, args=(stop.is_set,))
    thread.start()
    try:
        yield thread
    finally:
        stop.set()
        thread.join(60)
        process.close()
        assert not thread.is_alive()


def test_a_nudge_to_a_dead_broker_returns_and_the_dispatcher_does_the_job(tmp_path, rows):
    settings = Settings(home=tmp_path, broker_url=f"redis://127.0.0.1:{free_port()}/0", **QUICK)
    database = open_database(settings.database)
    upgrade(database)
    identifier, _ = submit(database, settings, Convert("wordmath", rows.digest, "dev", limit=30), rows)
    assert notify_workers(settings, "convert", identifier, 30) is False
    with dispatching(settings, patience=0.5):
        wait_for(database, identifier)


def test_a_nudge_to_a_broker_that_never_answers_is_given_up():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        settings = Settings(broker_url=f"redis://127.0.0.1:{silent.getsockname()[1]}/0")
        began = time.monotonic()
        assert notify_workers(settings, "evaluate", "abcdefgh", 500) is False
        assert time.monotonic() - began < 30  # it takes two seconds; the client's own limits are minutes


@pytest.mark.parametrize(
    "url", ["redis://no-such-host.invalid/0", "nonsense://x", "redis://[::", "", "redis://:p@:x/y"]
)
def test_a_nudge_never_raises(url):
    assert notify_workers(Settings(broker_url=url), "evaluate", "abcdefgh", 1) is False


def test_a_nudge_sends_at_most_four_messages_of_the_id_alone(redis_url):
    import json

    import redis

    settings, broker = Settings(broker_url=redis_url, concurrency=64), redis.Redis.from_url(redis_url)
    for items, expected in ((1, 1), (64, 1), (65, 2), (100_000, 4), (0, 0)):
        broker.delete("llm")
        assert notify_workers(settings, "evaluate", "abcdefgh", items) is bool(expected)
        assert broker.llen("llm") == expected
    notify_workers(settings, "train", "abcdefgh", 1, "cpu")
    assert broker.llen("cpu") == 1
    message = json.loads(broker.lpop("cpu"))
    assert message["content-type"] == "application/json" and message["headers"]["task"] == "train_shard"
    assert message["headers"]["argsrepr"] == "['abcdefgh']"


def test_a_nudge_reaches_the_pool_it_is_for_and_no_other(redis_url):
    import redis

    broker, app = redis.Redis.from_url(redis_url), make_app(redis_url)
    with app.connection_for_write() as connection:  # as the workers of all pools do when they start
        for queue in app.amqp.queues.values():
            queue(connection.default_channel).declare()
    for pool, kind in (("llm", "evaluate"), ("cpu", "convert"), ("gpu", "train")):
        assert notify_workers(Settings(broker_url=redis_url), kind, "abcdefgh", 1)
        assert {name: broker.llen(name) for name in POOLS} == {name: int(name == pool) for name in POOLS}
        broker.delete(pool)


@pytest.fixture
def looks(monkeypatch) -> list[None]:
    """Grows each time that a dispatcher has looked for work."""
    look, looks = Dispatcher._look_and_work, list[None]()

    def look_and_count(*arguments):
        found = look(*arguments)
        looks.append(None)
        return found

    monkeypatch.setattr(Dispatcher, "_look_and_work", look_and_count)
    return looks


def wait_for_looks(looks: list[None], many: int) -> None:
    until = len(looks) + many
    wait_until(lambda: len(looks) >= until, f"the dispatcher looks {many} times")


def test_the_dispatcher_leaves_a_new_job_to_those_who_were_nudged(tmp_path, rows, looks):
    settings = Settings(home=tmp_path, **QUICK)
    database = open_database(settings.database)
    upgrade(database)
    identifier, _ = submit(database, settings, Convert("wordmath", rows.digest, "dev", limit=5), rows)
    with dispatching(settings, patience=1000.0):
        wait_for_looks(looks, 3)
        assert state(database, identifier) == "queued"


def test_the_dispatcher_survives_a_database_that_goes_away_and_comes_back(postgres_server, postgres_url, rows, caplog):
    name = postgres_url.partition("?")[0].rpartition("/")[2]
    settings = Settings(database_url=postgres_url, concurrency=8, **EXPIRING)
    database = open_database(settings.database)
    replies = gold_replies(rows.benchmark, rows.tasks[:16], "iterative")
    with FakeEndpoint(from_mapping(replies), latency=0.2) as server:
        agent = Agent(roles={"planner": server.tgi, "grounder": server.tgi}, domain="maths")
        job = Evaluate(Infer("wordmath", rows.digest, "dev", "iterative", agent, limit=16))
        identifier, _ = submit(database, settings, job, rows)
        with dispatching(settings) as thread:
            wait_until(lambda: server.count > 20, "the job is under way")
            postgres_server.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
            postgres_server.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
            time.sleep(3.0)  # longer than the fence and the lease
            assert thread.is_alive()
            postgres_server.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
            wait_for(database, identifier, seconds=60)
        with database.engine.connect() as connection:
            assert find_violations(connection, settings.lease_seconds, has_witness=False) == {}
    assert any("database" in record.message or "heartbeat" in record.message for record in caplog.records)
    assert not any("Traceback" in record.message for record in caplog.records)
    database.close()


def test_the_dispatcher_survives_a_job_that_is_removed_right_after_a_pause(tmp_path, rows, caplog):
    """Within a heartbeat: the slice that works on the job learns of both when the job is gone."""
    settings = Settings(home=tmp_path, concurrency=8, **QUICK)
    database = open_database(settings.database)
    upgrade(database)
    replies = gold_replies(rows.benchmark, rows.tasks[:16], "iterative")
    with FakeEndpoint(from_mapping(replies), latency=0.1) as server, dispatching(settings) as thread:
        agent = Agent(roles={"planner": server.tgi, "grounder": server.tgi}, domain="maths")
        job = Evaluate(Infer("wordmath", rows.digest, "dev", "iterative", agent, limit=16))
        for pause_seconds in (0.0, 0.05, 0.15, 0.3, 0.0):
            before = server.count
            identifier, _ = submit(database, settings, job, rows)
            wait_until(lambda before=before: server.count > before + 8, "the job is under way")
            pause(database, identifier)
            time.sleep(pause_seconds)
            remove(database, identifier)
        identifier, _ = submit(database, settings, job, rows)
        wait_for(database, identifier, seconds=60)
        assert thread.is_alive()
    assert not [record for record in caplog.records if record.exc_info]
    with database.engine.connect() as connection:
        assert find_violations(connection, settings.lease_seconds, has_witness=False) == {}
    database.close()


def test_a_job_whose_last_process_died_before_it_said_so_is_found_done(database):
    job = new_job(database, tasks=1)
    who = holder(database, job)
    (item,) = claim(database, who)
    commit(database, who, Batch({item.id: item.claim}, finished=[finish(item)]))
    assert state(database, job) == "queued"
    with dispatching(Settings(database_url=database.url, **QUICK)):
        wait_for(database, job)


def test_who_waits_for_one_job_waits_until_a_cancelled_one_has_ended(database, looks):
    """Another process still holds an item of it."""
    job = new_job(database, tasks=1)
    other = holder(database, job)
    (item,) = claim(database, other)
    assert cancel(database, job) == "cancelling"
    process = WorkerContext(Deployment(Settings(database_url=database.url, poll_seconds=0.1)))
    thread = threading.Thread(target=Dispatcher(process, ["llm"], only=job).run, args=(lambda: False,))
    thread.start()
    wait_for_looks(looks, 3)
    assert thread.is_alive() and state(database, job) == "cancelling"
    commit(database, other, Batch({item.id: item.claim}, given_back=[ReturnedItem(item.id)]))
    thread.join(60)
    assert not thread.is_alive() and state(database, job) == "cancelled"
    process.close()


@contextmanager
def two_jobs(database, settings: Settings, rows):
    """Each takes many slices; the one submitted first comes first."""
    replies = gold_replies(rows.benchmark, rows.tasks[:40], "iterative")
    with FakeEndpoint(from_mapping(replies), latency=0.1) as server:
        agent = Agent(roles={"planner": server.tgi, "grounder": server.tgi}, domain="maths")
        infer = [Infer("wordmath", rows.digest, "dev", "iterative", agent, limit=limit) for limit in (39, 40)]
        yield [submit(database, settings, Evaluate(one), rows)[0] for one in infer]


TURNS = {**QUICK, "concurrency": 2, "slice_seconds": 0.3, "poll_seconds": 0.1, "drain_seconds": 0.0}


def test_jobs_that_are_equally_urgent_take_turns(database, rows):
    settings = Settings(database_url=database.url, **TURNS)

    def done(job: str) -> int:
        with database.engine.connect() as connection:
            return progress(connection, job).get("done", 0)

    with two_jobs(database, settings, rows) as (first, second), dispatching(settings):
        wait_until(lambda: done(second) and done(first), "both get on", 60)
        assert state(database, first) == "running"
        before = done(first)
        wait_until(lambda: done(first) > before + 3, "and so it goes on", 60)


def test_messages_that_bring_workers_back_are_sent_now_and_then(tmp_path, rows, redis_url, monkeypatch, looks):
    """Not at each look: nobody may be there to receive them."""
    import redis

    monkeypatch.setattr("workers.dispatcher.NOTIFY_SECONDS", 2.0)
    broker = redis.Redis.from_url(redis_url)
    settings = Settings(home=tmp_path, broker_url=redis_url, **TURNS)
    database = open_database(settings.database)
    upgrade(database)
    with two_jobs(database, settings, rows) as jobs, dispatching(settings):
        wait_until(lambda: broker.llen("llm") == len(jobs), "each job is named once")
        monkeypatch.setattr("workers.dispatcher.NOTIFY_SECONDS", 1000.0)
        wait_for_looks(looks, 6)
        assert broker.llen("llm") == len(jobs)
    database.close()
