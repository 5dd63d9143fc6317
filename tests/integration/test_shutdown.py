"""How a Celery worker may end: asked to, at once, killed, or killed by the time limit. The job is never torn."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from sqlalchemy import func, select, text

from db.engine.connection import open_database
from db.models import CompletionRow, EpisodeRow, Item, WorkerSessionRow
from db.queue.figures import progress
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.prompts.agent import Agent
from lumos_queue.settings import Settings
from lumos_queue.submission.store import read_rows, submit
from tests.fake_endpoint import FakeEndpoint, from_mapping
from tests.faults.invariants import INVARIANTS
from tests.gold_agent import gold_replies
from tests.kills.killed_child import end_sessions
from tests.services import CeleryWorker, wait_until
from tests.stored_rows import state
from workers.context import WorkerContext
from workers.dispatcher import Dispatcher
from workers.notify import notify_workers

EPISODES, CONCURRENCY = 24, 8
#: A worker on a busy machine is not taken for dead: the sessions of those that are killed are ended by the test.
TIMES = {"heartbeat_seconds": "0.3", "fence_seconds": "50", "lease_seconds": "60", "concurrency": str(CONCURRENCY)}
GRACE = {"drain_seconds": "60"}
NO_GRACE = {"drain_seconds": "1"}
#: Those that are about times or about what only a fault laboratory stores are not for here.
STATES = {name: query for name, query in INVARIANTS.items() if not any(no in query for no in (":lease", "fault_", "{"))}


class LimitedWorker(CeleryWorker):
    APPLICATION = "tests.limited_app"


@pytest.fixture(scope="module")
def wordmath():
    rows = read_rows(open_benchmark("wordmath"), None, "test", False)
    return rows, gold_replies(rows.benchmark, rows.tasks[:EPISODES], "iterative")


@contextmanager
def under_way(
    wordmath, redis_url, postgres_url, folder: Path, kind=CeleryWorker, latency=0.3, times=TIMES | NO_GRACE
) -> Iterator:
    """A worker in the middle of an evaluation, of which some steps are recorded."""
    rows, replies = wordmath
    settings = Settings(broker_url=redis_url, database_url=postgres_url, **times)
    database = open_database(settings.database)
    with (
        FakeEndpoint(from_mapping(replies), latency=latency) as server,
        kind(folder, "llm", broker_url=redis_url, database_url=postgres_url, **times) as worker,
    ):
        agent = Agent(roles={"planner": server.tgi, "grounder": server.tgi}, domain="maths")
        job = Evaluate(Infer("wordmath", rows.digest, "test", "iterative", agent, limit=EPISODES))
        identifier, _ = submit(database, settings, job, rows)
        assert notify_workers(settings, "evaluate", identifier, 1)
        run = SimpleNamespace(settings=settings, database=database, worker=worker, server=server, job=identifier)
        wait_until(lambda: calls_recorded(run) > 10, "the job is under way", 60)
        yield run
    database.close()


def calls_recorded(run) -> int:
    counted = select(func.count()).select_from(CompletionRow).join(EpisodeRow, EpisodeRow.id == CompletionRow.episode)
    with run.database.engine.connect() as connection:
        return connection.execute(counted.where(EpisodeRow.job == run.job)).scalar_one()


def look(run) -> SimpleNamespace:
    """The job's items by state, what its items' deaths add up to, and by whom each worker session was ended."""
    with run.database.engine.connect() as connection:
        return SimpleNamespace(
            items=progress(connection, run.job),
            deaths=connection.execute(select(func.sum(Item.deaths)).where(Item.job == run.job)).scalar_one(),
            endings=list(connection.execute(select(WorkerSessionRow.ended_by).order_by(WorkerSessionRow.id)).scalars()),
            broken=[name for name, query in STATES.items() if connection.execute(text(query)).all()],
        )


def check_another_worker_completes_it(run, lost: int) -> None:
    """And repeats no recorded call; `lost`: how many calls may have been asked without being recorded."""
    run.server.latency = 0.0
    before = calls_recorded(run)
    process = WorkerContext(Deployment(run.settings))
    try:
        Dispatcher(process, ["llm"], only=run.job).run(lambda: False)
    finally:
        process.close()
    assert state(run.database, run.job) == "done"
    found = look(run)
    assert found.items == {"done": EPISODES} and found.broken == []
    with run.database.engine.connect() as connection:
        needed = connection.execute(select(func.sum(EpisodeRow.calls)).where(EpisodeRow.job == run.job)).scalar_one()
    recorded = calls_recorded(run)
    assert before < recorded == needed, "a recorded call was repeated"
    assert recorded <= run.server.count <= recorded + lost


def test_TERM_lets_what_is_in_flight_finish_and_gives_back_the_rest(wordmath, redis_url, postgres_url, tmp_path):
    with under_way(wordmath, redis_url, postgres_url, tmp_path, times=TIMES | GRACE) as run:
        family = psutil.Process(run.worker.process.pid).children(recursive=True)
        run.worker.process.send_signal(signal.SIGTERM)
        assert run.worker.process.wait(timeout=60) == 0
        assert family and not any(process.is_running() for process in family)
        found = look(run)
        assert set(found.items) == {"owed", "done"} and found.items["done"] >= CONCURRENCY, found
        assert found.deaths == 0 and found.endings == ["itself"] and found.broken == []
        check_another_worker_completes_it(run, lost=0)


def test_TERM_gives_back_what_takes_longer_than_the_grace(wordmath, redis_url, postgres_url, tmp_path):
    with under_way(wordmath, redis_url, postgres_url, tmp_path, latency=1.5) as run:
        began = time.monotonic()
        run.worker.process.send_signal(signal.SIGTERM)
        assert run.worker.process.wait(timeout=60) == 0
        assert time.monotonic() - began > 1.0, "it had its grace"
        found = look(run)
        assert set(found.items) <= {"owed", "done"} and found.items["owed"] > EPISODES - CONCURRENCY, found
        assert found.deaths == 0 and found.endings == ["itself"] and found.broken == []
        # Asked when the grace ended, and not waited for.
        check_another_worker_completes_it(run, lost=CONCURRENCY)


def test_QUIT_ends_the_worker_at_once_and_tears_nothing(wordmath, redis_url, postgres_url, tmp_path):
    with under_way(wordmath, redis_url, postgres_url, tmp_path, latency=1.5) as run:
        family = psutil.Process(run.worker.process.pid).children(recursive=True)
        run.worker.process.send_signal(signal.SIGQUIT)
        run.worker.process.wait(timeout=60)
        wait_until(lambda: not any(alive(process) for process in family), "its children are gone", 60)
        assert look(run).items.get("done", 0) == 0
        end_sessions(run.settings)
        check_another_worker_completes_it(run, lost=2 * CONCURRENCY)


@pytest.mark.long
@pytest.mark.parametrize("victim", ["worker", "child", "parent"])
def test_KILL_of_any_process_tears_nothing(victim, wordmath, redis_url, postgres_url, tmp_path):
    with under_way(wordmath, redis_url, postgres_url, tmp_path) as run:
        parent, family = run.worker.process.pid, psutil.Process(run.worker.process.pid).children(recursive=True)
        if victim == "worker":
            os.killpg(parent, signal.SIGKILL)
        else:
            os.kill(parent if victim == "parent" else run.worker.children()[0], signal.SIGKILL)
        wait_until(lambda: not any(alive(process) for process in family), "its children are gone", 60)
        if victim == "child":
            assert run.worker.alive
            wait_until(run.worker.children, "the parent starts another child", 60)
        end_sessions(run.settings)
        check_another_worker_completes_it(run, lost=2 * CONCURRENCY)


def test_the_hard_time_limit_kills_a_child_and_tears_nothing(wordmath, redis_url, postgres_url, tmp_path):
    with under_way(wordmath, redis_url, postgres_url, tmp_path, kind=LimitedWorker) as run:
        child = run.worker.children()
        wait_until(lambda: run.worker.has_logged("Hard time limit"), "the limit is reached", 60)
        wait_until(lambda: run.worker.children() not in ([], child), "another child is started", 60)
        assert run.worker.alive
        end_sessions(run.settings)
        check_another_worker_completes_it(run, lost=2 * CONCURRENCY)


def alive(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
