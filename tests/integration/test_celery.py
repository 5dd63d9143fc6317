"""Jobs through Celery, Redis and PostgreSQL: the same rows as without them."""

from __future__ import annotations

import signal
import threading
import time
from types import SimpleNamespace

import psutil
import pytest
from celery.events import EventReceiver
from sqlalchemy import func, select

from db.engine.connection import open_database
from db.engine.lease import Lease
from db.models import CompletionRow, EpisodeRow
from db.queries.jobs import get_job
from db.queue.figures import progress
from db.queue.job_changes import cancel, resume
from db.queue.quarantine import close_sessions
from db.queue.sessions import live_sessions
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.endpoints.base import Sampling
from lumos_queue.jobs.convert import Convert
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.jobs.train import Train
from lumos_queue.prompts.agent import Agent
from lumos_queue.settings import Settings
from lumos_queue.submission.store import read_rows, submit
from lumos_queue.submission.submit_options import SubmitOptions
from lumos_queue.training.recipes.starter import Starter
from tests.fake_endpoint import FakeEndpoint, from_mapping
from tests.gold_agent import gold_replies
from tests.pretended_gpus import pretend_gpus
from tests.services import CeleryWorker, start_redis, wait_until
from tests.stored_rows import read_stored_rows, run_embedded, state, wait_for
from workers.app import POOLS, make_app
from workers.notify import notify_workers
from workers.stop_signal import MAX_SLICES

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
        folder, "cpu,llm", broker_url=broker_url, database_url=database_url, concurrency="16", heartbeat_seconds="0.3"
    ) as worker:
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
    assert notify_workers(deployed.settings, job.kind, identifier, len(rows.tasks), job.pool)
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
    found = read_stored_rows(deployed.database, identifier)
    assert len(found) == 40 and sum(bool(episode["execution"]) for episode in found.values()) >= 35
    assert found == read_stored_rows(embedded, other)
    assert deployed.worker.has_logged("Task convert[")


@pytest.mark.parametrize("formulation", ["iterative", "one-pass"])
def test_an_evaluation_stores_the_same_steps_through_celery_as_embedded(formulation, deployed, wordmath, tmp_path):
    replies = gold_replies(wordmath.benchmark, wordmath.tasks[:20], formulation)
    with FakeEndpoint(from_mapping(replies)) as server:
        job = evaluation(server, wordmath, formulation, 20)
        identifier = send(deployed, job, wordmath)
        wait_for(deployed.database, identifier)
        assert server.count == calls_recorded(deployed.database, identifier)
        embedded, other = run_embedded(tmp_path, job, wordmath)
    found = read_stored_rows(deployed.database, identifier)
    assert len(found) == 20
    assert all(episode["scores"][0][2] == 1.0 for episode in found.values()), "the gold agent must be right"
    assert found == read_stored_rows(embedded, other)
    assert deployed.worker.has_logged("Task evaluate[")


def calls_recorded(database, job: str) -> int:
    with database.engine.connect() as connection:
        counted = (
            select(func.count()).select_from(CompletionRow).join(EpisodeRow, EpisodeRow.id == CompletionRow.episode)
        )
        return connection.execute(counted.where(EpisodeRow.job == job)).scalar_one()


def test_submitting_the_same_again_shows_the_first_job(deployed, wordmath):
    job = Convert("wordmath", wordmath.digest, "test", limit=43)
    identifier = send(deployed, job, wordmath)
    assert submit(deployed.database, deployed.settings, job, wordmath) == (identifier, False)
    wait_for(deployed.database, identifier)
    assert submit(deployed.database, deployed.settings, job, wordmath) == (identifier, False)
    again, new = submit(deployed.database, deployed.settings, job, wordmath, SubmitOptions(again=True))
    assert new and again != identifier


def test_cancel_stops_a_running_job_and_resume_finishes_it_without_repeating_a_call(deployed, wordmath):
    replies = gold_replies(wordmath.benchmark, wordmath.tasks[:60], "iterative")
    with FakeEndpoint(from_mapping(replies), latency=SLOW) as server:
        identifier = send(deployed, evaluation(server, wordmath, "iterative", 60), wordmath)
        wait_until(lambda: calls_recorded(deployed.database, identifier) > 20, "the job is under way")
        assert cancel(deployed.database, identifier) == "cancelling"
        wait_for(deployed.database, identifier, "cancelled")
        with deployed.database.engine.connect() as connection:
            items = progress(connection, identifier)
        assert items.get("cancelled", 0) > 0 and set(items) <= {"cancelled", "done"}
        asked = server.count
        time.sleep(3 * SLOW)
        assert server.count == asked, "a cancelled job makes no calls"
        assert resume(deployed.database, identifier) == "queued"
        assert notify_workers(deployed.settings, "evaluate", identifier, 60)
        wait_for(deployed.database, identifier)
        recorded = calls_recorded(deployed.database, identifier)
        # Only what was in flight at the moment of cancelling may have been asked twice.
        assert recorded <= server.count <= recorded + deployed.settings.concurrency


def test_a_worker_is_seen_as_idle_outlives_its_broker_and_listens_again(postgres_url, wordmath, tmp_path):
    database = open_database(postgres_url)

    def seen() -> list:
        with database.engine.connect() as connection:
            return [(row.pid, row.items, row.id) for row in live_sessions(connection, Lease(15.0))]

    with (
        start_redis() as broker,
        CeleryWorker(
            tmp_path, "cpu", broker_url=broker.url, database_url=postgres_url, heartbeat_seconds="0.3"
        ) as worker,
    ):
        settings = Settings(broker_url=broker.url, database_url=postgres_url)
        (first,) = wait_until(seen, "the child is seen")
        assert first[:2] == (worker.children()[0], 0)
        with database.writer.begin() as connection:
            close_sessions(connection, [first[2]], "another", has_died=True)
        (second,) = wait_until(seen, "it is seen again, after it was declared dead")
        assert second[:2] == first[:2] and second[2] > first[2]

        broker.stop()
        identifier, _ = submit(database, settings, Convert("wordmath", wordmath.digest, "test", limit=5), wordmath)
        assert notify_workers(settings, "convert", identifier, 5) is False
        wait_until(lambda: worker.has_logged("Connection to broker lost"), "the worker notices")
        broker.start()
        wait_until(lambda: notify_workers(settings, "convert", identifier, 5), "the broker takes messages again")
        wait_for(database, identifier, seconds=60)
        broker.stop()
        log = worker.log.read_text
        wait_until(lambda: log().count("Connection to broker lost") == 2, "the worker notices again")
        worker.process.send_signal(signal.SIGTERM)
        worker.process.wait(timeout=60)
    assert not seen(), "it has ended in good order"
    database.close()


def event_of(broker_url: str, wanted: str, act) -> dict:
    """What Celery's worker tells of the end of the first task in whose words `wanted` stands, after `act` is called."""
    app, found, listening = make_app(broker_url), [], threading.Event()
    with app.connection() as connection:
        ends = dict.fromkeys(("task-succeeded", "task-failed", "task-retried"), found.append)
        receiver = EventReceiver(connection, handlers=ends, app=app)
        receiver.on_consume_ready = lambda *_, **__: listening.set()
        capture = threading.Thread(target=receiver.capture, kwargs={"limit": None, "wakeup": False}, daemon=True)
        capture.start()
        assert listening.wait(10)
        act()
        event = wait_until(lambda: next((one for one in found if wanted in str(one)), None), "the worker tells of it")
        receiver.should_stop = True
        capture.join(60)
    return event


def test_a_slice_tells_in_words_what_it_did_and_one_at_a_dead_endpoint_fails_in_a_line(deployed, wordmath):
    replies = gold_replies(wordmath.benchmark, wordmath.tasks[:10], "iterative")
    jobs = []
    with FakeEndpoint(from_mapping(replies)) as server:
        event = event_of(
            deployed.settings.broker_url,
            "items finished",
            lambda: jobs.append(send(deployed, evaluation(server, wordmath, "iterative", 10), wordmath)),
        )
        told = f"'wordmath iterative, planner/grounder {server.tgi}: 10 items finished; stopped: the job is done'"
        assert (event["type"], event["result"]) == ("task-succeeded", told)
    with FakeEndpoint(from_mapping(replies)) as server:
        job = evaluation(server, wordmath, "iterative", 9)
    failed = event_of(
        deployed.settings.broker_url, "items finished", lambda: jobs.append(send(deployed, job, wordmath))
    )
    assert (failed["type"], failed["traceback"]) == ("task-failed", "")
    assert failed["exception"].startswith("SliceFailed('wordmath iterative, planner/grounder tgi://127.0.0.1:")
    assert "failed: endpoint: " in failed["exception"] and failed["exception"].endswith("; 0 items finished')")
    assert "\n" not in failed["exception"]
    with deployed.database.engine.connect() as connection:
        row = get_job(connection, jobs[1])
        assert (row.state, row.waiting[:9], progress(connection, row.id)) == ("queued", "endpoint:", {"owed": 9})
    assert cancel(deployed.database, jobs[1]) == "cancelled"
    log = deployed.worker.log.read_text()
    line = next(line for line in log.splitlines() if "raised expected: SliceFailed" in line)
    assert "Traceback" not in log.partition(line)[2].partition("Task evaluate")[0]


def test_a_slice_fails_with_the_reason_when_its_job_has_failed_or_each_of_its_items(deployed, wordmath, tmp_path):
    missing = Train(Starter(str(tmp_path / "no-data"), str(tmp_path / "fit"), generated=200))
    jobs = []

    def train() -> None:
        jobs.append(submit(deployed.database, deployed.settings, missing, None, windows=1)[0])
        assert notify_workers(deployed.settings, missing.kind, jobs[0], 1, missing.pool)

    failed = event_of(deployed.settings.broker_url, "train starter", train)
    assert failed["type"] == "task-failed" and "no-data" in failed["exception"]
    assert "SliceFailed(\"train starter: failed: job: item 0: No file '" in failed["exception"]
    assert state(deployed.database, jobs[0]) == "failed"
    again = event_of(
        deployed.settings.broker_url,
        "nothing was done",
        lambda: notify_workers(deployed.settings, missing.kind, jobs[0], 1, missing.pool),
    )
    assert again["type"] == "task-failed" and "failed: job: item 0: No file '" in again["exception"]

    replies = {"1 + 1": " 2"}  # of the control: the server is not down
    with FakeEndpoint(lambda prompt: replies.get(prompt[:5], (500, b"out of memory"))) as server:
        job = evaluation(server, wordmath, "iterative", 2)
        rows = event_of(deployed.settings.broker_url, "2 failed", lambda: jobs.append(send(deployed, job, wordmath)))
        reason = f"http://127.0.0.1:{server.port}/generate answered 500: out of memory"
        assert rows["type"] == "task-failed"
        assert rows["exception"].endswith(f": failed: 0 items finished, 2 failed: {reason}')")
        with deployed.database.engine.connect() as connection:
            assert get_job(connection, jobs[1]).waits == 0
        idle = event_of(
            deployed.settings.broker_url,
            "are tried again",
            lambda: notify_workers(deployed.settings, job.kind, jobs[1], 1, job.pool),
        )
        assert idle["type"] == "task-succeeded"
        assert f"nothing was due: 2 items failed and are tried again: {reason}" in idle["result"]
        assert cancel(deployed.database, jobs[1]) in ("cancelling", "cancelled")


class OnGpu(Starter):
    """The recipe with the least work, as if its training were asked for on a GPU."""

    device = "cuda"


def test_a_job_of_the_gpu_pool_runs_only_on_its_worker_in_a_process_of_its_own(
    deployed, wordmath, shared_data, tmp_path, monkeypatch
):
    job = Train(OnGpu(str(tmp_path / "data"), str(tmp_path / "fit"), generated=200))
    for name in ("gsm8k/train.jsonl", "mawps/cv_mawps/fold0/train.csv"):  # the first rows will do
        file = tmp_path / "data" / name
        file.parent.mkdir(parents=True)
        lines = (shared_data / name).read_text(encoding="utf-8").splitlines(keepends=True)
        file.write_text("".join(lines[:80]), encoding="utf-8")
    for name in ("asdiv", "svamp"):
        (tmp_path / "data" / name).symlink_to(shared_data / name)
    before = deployed.worker.count_in_log("Task train_shard[")  # of other tests
    # Its first item, the preparation; a GPU is not needed to see where it runs.
    identifier, _ = submit(deployed.database, deployed.settings, job, None, windows=1)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    urls = {"broker_url": deployed.settings.broker_url, "database_url": deployed.settings.database_url}
    assert notify_workers(deployed.settings, job.kind, identifier, 1, job.pool)
    later = Convert("wordmath", wordmath.digest, "test", limit=1)
    wait_for(deployed.database, send(deployed, later, wordmath))
    assert state(deployed.database, identifier) == "queued", "the workers of the other pools leave it alone"
    monkeypatch.setenv("PYTHONPATH", pretend_gpus(tmp_path / "path", [24_000]))
    with CeleryWorker(tmp_path, "gpu", **urls) as worker:
        (pool_process,) = worker.children()

        def training() -> psutil.Process | None:
            return next(iter(psutil.Process(pool_process).children()), None)

        child = wait_until(training, "the training process starts", 60, 0.01)
        assert child.pid not in (pool_process, worker.process.pid)
        wait_until(lambda: "lumos_queue.jobs.train_child" in child.cmdline(), "it is one", 30, 0.01)
        assert child.environ()["CUDA_VISIBLE_DEVICES"] == "3"
        wait_for(deployed.database, identifier)
        assert not child.is_running()
    assert deployed.worker.count_in_log("Task train_shard[") == before


def test_each_broker_is_told_what_it_understands():
    rabbitmq, redis = make_app("amqp://127.0.0.1//").conf, make_app("rediss://127.0.0.1/0").conf
    assert rabbitmq.broker_transport_options == {"confirm_publish": True}
    assert "visibility_timeout" in redis.broker_transport_options
    # Either way no worker keeps a message that another could act on.
    assert (rabbitmq.task_acks_late, rabbitmq.worker_disable_prefetch) == (True, False)
    assert (redis.task_acks_late, redis.worker_disable_prefetch) == (False, True)
    assert {queue.name: (queue.exchange.name, queue.routing_key, queue.durable) for queue in rabbitmq.task_queues} == {
        pool: (pool, pool, True) for pool in POOLS
    }


def test_a_hard_time_limit_is_longer_than_the_longest_slice():
    conf = make_app("redis://127.0.0.1/0", slice_seconds=100.0).conf
    assert MAX_SLICES * 100 < conf.task_time_limit < conf.task_annotations["train_shard"]["time_limit"]
