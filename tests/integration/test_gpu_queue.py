"""Celery workers without a GPU: they give messages of the queue `gpu` back, and stop consuming it."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from sqlalchemy import update

from db.engine.connection import open_database
from db.engine.lease import Lease
from db.engine.migrate import upgrade
from db.models import JobRow
from db.queue.sessions import live_sessions
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.jobs.convert import Convert
from lumos_queue.settings import Settings
from lumos_queue.submission.store import read_rows, submit
from tests.claim_log import claimers, log_claims
from tests.pretended_gpus import pretend_gpus
from tests.services import CeleryWorker, wait_until
from tests.stored_rows import state, wait_for
from workers.app import make_app
from workers.notify import notify_workers


class Deployment:
    """A database and a broker, and workers with GPUs or without."""

    def __init__(self, folder, broker_url: str, monkeypatch):
        self.folder, self._monkeypatch = folder, monkeypatch
        self.urls = {"broker_url": broker_url, "database_url": f"sqlite:///{folder / 'lumos.db'}"}
        self.settings = Settings(**self.urls)
        self.database = open_database(self.settings.database)
        upgrade(self.database)
        log_claims(self.database)
        self.rows = read_rows(open_benchmark("wordmath"), None, "dev", False)
        self.workers = ExitStack()

    def start(self, name: str, queues: str, *memories: int) -> CeleryWorker:
        """A worker whose torch finds these GPUs."""
        folder = self.folder / name
        folder.mkdir()
        with self._monkeypatch.context() as patch:
            patch.setenv("PYTHONPATH", pretend_gpus(folder / "path", memories))
            worker = CeleryWorker(folder, queues, **self.urls, heartbeat_seconds="0.3")
        return self.workers.enter_context(worker)

    def send(self, limit: int, pool: str = "gpu") -> str:
        """A small job stored for a pool, and a message about it."""
        job, _ = submit(
            self.database, self.settings, Convert("wordmath", self.rows.digest, "dev", limit=limit), self.rows
        )
        with self.database.writer.begin() as connection:
            connection.execute(update(JobRow).where(JobRow.id == job).values(pool=pool))
        assert notify_workers(self.settings, "convert", job, 1, pool)
        return job

    def sessions(self) -> dict[int, tuple[str, int | None]]:
        """Pools and GPUs of each live session."""
        with self.database.engine.connect() as connection:
            return {row.id: (row.pools, row.gpus) for row in live_sessions(connection, Lease(15.0))}

    def consumed(self) -> list[set[str]]:
        """The queues that each worker consumes, as it says."""
        answers = make_app(self.settings.broker_url).control.inspect(timeout=2).active_queues() or {}
        return [{queue["name"] for queue in queues} for queues in answers.values()]

    def close(self) -> None:
        self.workers.close()
        self.database.close()


@pytest.fixture(params=["redis_url", "rabbitmq_url"])
def deployment(request, tmp_path, monkeypatch):
    made = Deployment(tmp_path, request.getfixturevalue(request.param), monkeypatch)
    yield made
    made.close()


def test_a_worker_without_a_gpu_gives_the_message_back_and_another_one_with_a_gpu_gets_it(deployment):
    worker = deployment.start("without", "cpu,gpu")
    job = deployment.send(3)
    wait_until(
        lambda: worker.has_logged("it leaves the queue of the pool gpu to other workers"), "it gives the message back"
    )
    wait_until(lambda: list(deployment.sessions().values()) == [("cpu,gpu", 0)], "its child has stored the answer")
    wait_until(lambda: deployment.consumed() == [{"cpu"}], "it consumes the other queue")
    wait_for(deployment.database, deployment.send(4, "cpu"))
    assert state(deployment.database, job) == "queued"
    without = set(deployment.sessions())
    deployment.start("with", "gpu", 24_000)
    wait_for(deployment.database, job)
    (session,) = set(deployment.sessions()) - without
    assert deployment.sessions()[session] == ("gpu", 1)
    assert claimers(deployment.database)[job] == {session}


def test_a_worker_of_the_pool_gpu_alone_looks_for_gpus_at_its_start_and_takes_nothing_without_one(deployment):
    worker = deployment.start("without", "gpu")
    assert worker.has_logged("this worker finds no GPU and serves no other pool: it takes no job")
    wait_until(lambda: list(deployment.sessions().values()) == [("gpu", 0)], "its child is seen")
    assert deployment.consumed() == [set()]
    job = deployment.send(3)
    deployment.start("with", "gpu", 24_000)
    wait_for(deployment.database, job)
    assert not worker.has_logged("Task convert[")
