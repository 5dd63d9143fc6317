"""Who claims jobs of the pool gpu: processes with a GPU. All others leave them, and say what to start."""

from __future__ import annotations

import os
import threading
from contextlib import ExitStack, contextmanager

import pytest
from sqlalchemy import select, text, update

from db.engine.connection import open_database
from db.engine.lease import Lease
from db.engine.migrate import downgrade, upgrade
from db.kinds.pools import Gpus
from db.models import JobRow, WorkerSessionRow
from db.queue.fence import end_session, record_gpus, start_session
from db.queue.figures import progress
from db.queue.schedule import back_off
from db.queue.sessions import live_sessions
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.jobs.convert import Convert
from lumos_queue.live.watched_jobs import WatchedJobs
from lumos_queue.settings import Settings
from lumos_queue.submission.fit_device import choose_device
from lumos_queue.submission.store import read_rows, submit
from tests.claim_log import claimers, log_claims
from tests.claims import new_job
from tests.forked_commands import fork_lumos
from tests.pretended_gpus import pretend_gpus
from tests.services import free_port, wait_until
from tests.stored_rows import state, wait_for
from workers import gpus
from workers.context import WorkerContext
from workers.dispatcher import Dispatcher
from workers.session import WorkerSession

QUICK = {"heartbeat_seconds": 0.2, "poll_seconds": 0.2}
NO_GPU = "no live worker has a GPU: start `lumos worker --pools gpu` on a machine with a GPU"
NO_POOL = "no live worker serves the pool gpu: start `lumos worker --pools gpu` on a machine with a GPU"


@pytest.fixture(autouse=True)
def questions(monkeypatch) -> list[object]:
    """The times that torch was asked in this process, which has no GPU; and it has not been asked yet."""
    asked: list[object] = []
    monkeypatch.setattr(gpus, "_answer", bytearray(24))
    monkeypatch.setattr(gpus, "ask_torch", lambda folder: asked.append(folder) or Gpus(0, 0))
    return asked


@pytest.fixture(scope="module")
def rows():
    return read_rows(open_benchmark("wordmath"), None, "dev", False)


def submit_to_gpu(database, settings: Settings, rows, limit: int) -> str:
    """A small and urgent job stored for the pool gpu. It needs no GPU; what matters is who claims it."""
    job, _ = submit(database, settings, Convert("wordmath", rows.digest, "dev", limit=limit), rows)
    with database.writer.begin() as connection:
        connection.execute(update(JobRow).where(JobRow.id == job).values(pool="gpu", priority=5))
    return job


def sessions_of(database) -> dict[int, tuple[str, int | None, int | None]]:
    """Pools, GPUs and MiB of each live session."""
    with database.engine.connect() as connection:
        return {row.id: (row.pools, row.gpus, row.gpu_mib) for row in live_sessions(connection, Lease(15.0))}


@contextmanager
def dispatching(settings: Settings, *pools: str):
    stop, process = threading.Event(), WorkerContext(Deployment(settings), pools)
    thread = threading.Thread(target=Dispatcher(process, pools).run, args=(stop.is_set,))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(60)
        process.close()


def test_a_session_of_earlier_code_is_taken_to_serve_all_pools(database):
    downgrade(database, "0018")
    with database.writer.begin() as connection:
        columns = "host, pid, code_version, started_at, ended_by"
        connection.execute(text(f"INSERT INTO worker_session ({columns}) VALUES ('a', 1, '1', 0, '')"))
    upgrade(database)
    with database.engine.connect() as connection:
        row = connection.execute(select(WorkerSessionRow.__table__)).one()
    assert (row.host, row.pools, row.gpus, row.gpu_mib) == ("a", "cpu,llm,gpu", None, None)


def test_a_session_stores_its_pools_at_once_and_its_gpus_when_they_are_known(database, tmp_path):
    session = WorkerSession(database, Settings(**QUICK), "1", ("llm", "gpu"))
    try:
        assert sessions_of(database) == {session.id: ("llm,gpu", None, None)}
        gpus.find_gpus(tmp_path)
        wait_until(lambda: sessions_of(database) == {session.id: ("llm,gpu", 0, 0)}, "the heartbeat stores them")
    finally:
        session.close()
    again = WorkerSession(database, Settings(), "1")
    assert sessions_of(database) == {again.id: ("cpu,llm,gpu", 0, 0)}
    again.close()


def test_a_process_without_a_gpu_asks_once_claims_nothing_of_the_pool_and_does_all_else(database, rows, questions):
    settings = Settings(database_url=database.url, **QUICK)
    log_claims(database)
    mine, other = (submit_to_gpu(database, settings, rows, limit) for limit in (3, 4))
    usual, _ = submit(database, settings, Convert("wordmath", rows.digest, "dev", limit=5), rows)
    with dispatching(settings, "cpu", "llm", "gpu"):
        wait_for(database, usual)
        wait_until(lambda: [gpu for _, gpu, _ in sessions_of(database).values()] == [0], "it has stored the answer")
        later, _ = submit(database, settings, Convert("wordmath", rows.digest, "dev", limit=6), rows)
        wait_for(database, later)
    assert len(questions) == 1 and set(claimers(database)) == {usual, later}
    for job in (mine, other):
        assert state(database, job) == "queued"


def test_a_process_that_does_not_serve_the_pool_never_asks(tmp_path, rows, questions):
    settings = Settings(home=tmp_path, **QUICK)
    database = open_database(settings.database)
    upgrade(database)
    submit_to_gpu(database, settings, rows, 3)
    usual, _ = submit(database, settings, Convert("wordmath", rows.digest, "dev", limit=5), rows)
    with dispatching(settings, "cpu", "llm"):
        wait_for(database, usual)
    assert not questions
    database.close()


def test_jobs_of_the_pool_are_announced_to_workers_only_while_one_may_have_a_gpu(tmp_path, rows, monkeypatch):
    """A dispatcher without a GPU brings idle workers with one back, when the broker has lost a message."""
    announced: list[str] = []
    monkeypatch.setattr("workers.dispatcher.NOTIFY_SECONDS", 0.1)
    monkeypatch.setattr("workers.dispatcher.notify_workers", lambda _, kind, job, *rest: announced.append(job))
    settings = Settings(home=tmp_path, broker_url=f"redis://127.0.0.1:{free_port()}/0", **QUICK)
    database = open_database(settings.database)
    upgrade(database)
    with dispatching(settings, "cpu", "llm", "gpu"):
        job = submit_to_gpu(database, settings, rows, 3)
        wait_until(lambda: [gpu for _, gpu, _ in sessions_of(database).values()] == [0], "it knows of no GPU")
        announced.clear()
        usual, _ = submit(database, settings, Convert("wordmath", rows.digest, "dev", limit=5), rows)
        wait_for(database, usual)
        assert job not in announced
        start_session(database, "1", ("gpu",), Gpus(1, 24_000))
        wait_until(lambda: job in announced, "the worker with a GPU is told")
    assert state(database, job) == "queued"
    database.close()


def test_lists_say_which_worker_a_job_lacks_and_what_to_start(lumos, capsys):
    database = open_database(Settings(home=lumos.home).database)
    upgrade(database)
    job = new_job(database, pool="gpu")
    assert f"nobody works on {job}: continue with lumos resume {job}" in lumos("jobs").err
    other = start_session(database, "1", ("cpu", "llm"))
    assert f"nobody works on {job}: {NO_POOL}" in lumos("jobs").err
    unknown = start_session(database, "1", ("cpu", "llm", "gpu"))
    assert lumos("jobs", "--json").json["jobs"][0]["real_state"] == "queued", "it may have a GPU"
    record_gpus(database, unknown, Gpus(0, 0))
    listed = lumos("jobs", "--json").json["jobs"][0]
    assert (listed["real_state"], listed["reason"]) == ("nobody works on it", NO_GPU)
    assert f"nobody works on {job}: {NO_GPU}" in lumos("jobs").err
    record_gpus(database, unknown, Gpus(2, 81_559))
    assert lumos("jobs", "--json").json["jobs"][0]["real_state"] == "queued"
    lumos.set(COLUMNS=140)
    shown = lumos("workers").out
    assert "2, at least 85.5 GB each" in shown and "cpu, llm, gpu" in shown
    first, second = lumos("workers", "--json").json["workers"]
    assert (first["id"], first["pools"], first["gpus"], first["gpu_mib"]) == (other, ["cpu", "llm"], None, None)
    assert (second["pools"], second["gpus"], second["gpu_mib"]) == (["cpu", "llm", "gpu"], 2, 81_559)
    database.close()


def test_auto_is_the_device_of_the_live_workers_where_there_is_a_broker(database, monkeypatch):
    monkeypatch.setattr("lumos_queue.submission.fit_device._has_gpu", lambda: True)
    broker = Deployment(Settings(database_url=database.url, broker_url="redis://127.0.0.1:1/0"))
    alone = Deployment(Settings(database_url=database.url))
    assert (choose_device(broker, "auto"), choose_device(alone, "auto")) == ("cpu", "cuda"), "no worker is alive"
    start_session(database, "1", ("cpu", "llm"))
    start_session(database, "1", ("cpu", "gpu"), Gpus(0, 0))
    assert choose_device(broker, "auto") == "cpu"
    unknown = start_session(database, "1")
    assert choose_device(broker, "auto") == "cuda", "it may have a GPU: as this machine"
    monkeypatch.setattr("lumos_queue.submission.fit_device._has_gpu", lambda: False)
    assert choose_device(broker, "auto") == "cpu"
    record_gpus(database, unknown, Gpus(1, 24_000))
    assert (choose_device(broker, "auto"), choose_device(alone, "auto")) == ("cuda", "cpu")
    end_session(database, unknown)
    assert choose_device(broker, "auto") == "cpu"
    broker.close()


def test_watch_says_what_to_start_whatever_the_job_waits_for(database):
    job, settings = new_job(database, pool="gpu"), Settings()
    start_session(database, "1", ("gpu",), Gpus(0, 0))

    def waits() -> list[str]:
        watched = WatchedJobs(settings, [job])
        with database.engine.connect() as connection:
            watched.read(connection)
        return watched.jobs[0].waits

    assert waits() == [f"nobody works on it: {NO_GPU}"]
    back_off(database, job, "endpoint: nothing answers.", 30.0)
    first, second = waits()
    assert first.startswith("waits: endpoint: nothing answers") and second == f"nobody works on it: {NO_GPU}"
    start_session(database, "1", ("gpu",), Gpus(1, 24_000))
    assert [line[:5] for line in waits()] == ["waits"]


def test_who_goes_on_with_a_job_here_is_told_at_once_that_it_needs_a_gpu(rows, tmp_path):
    settings = Settings(home=tmp_path / "home", **QUICK)
    database = open_database(settings.database)
    upgrade(database)
    job = submit_to_gpu(database, settings, rows, 3)
    path = {"LUMOS_HOME": str(settings.home), "PYTHONPATH": pretend_gpus(tmp_path / "path", [])}
    quick = {f"LUMOS_{name.upper()}": str(value) for name, value in QUICK.items()}
    process = fork_lumos("resume", job, environment={**os.environ, **path, **quick})
    process.expect(f"job {job} waits: {NO_GPU}")
    with Machine(tmp_path / "other", settings.database, 24_000):
        process.expect("continues after")
        assert process.wait() == 0
    assert state(database, job) == "done"
    database.close()


class Machine:
    """`lumos worker` in a process of its own, where torch finds these GPUs."""

    def __init__(self, folder, database_url: str, *memories: int, pools: str = "cpu,llm,gpu"):
        variables = {"LUMOS_DATABASE_URL": database_url, "LUMOS_HOME": str(folder / "home")}
        variables |= {f"LUMOS_{name.upper()}": str(value) for name, value in QUICK.items()}
        path = pretend_gpus(folder / "path", memories)
        self.process = fork_lumos(
            "worker", "--pools", pools, environment={**os.environ, **variables, "PYTHONPATH": path}
        )

    def __enter__(self) -> Machine:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        assert self.process.wait() == 0


@pytest.mark.parametrize(("memories", "number"), [([], 0), ([24_000], 1)])
def test_a_process_of_the_pool_gpu_alone_looks_for_gpus_before_there_is_a_job(tmp_path, memories, number):
    database = open_database(f"sqlite:///{tmp_path / 'lumos.db'}")
    upgrade(database)
    with Machine(tmp_path, database.url, *memories, pools="gpu") as machine:
        wait_until(lambda: [row[:2] for row in sessions_of(database).values()] == [("gpu", number)], "it has looked")
        assert ("this process finds no GPU and serves no other pool" in machine.process.err) is not bool(number)
    database.close()


def test_of_three_dispatchers_the_one_with_a_gpu_claims_all_jobs_of_the_pool(postgres_url, rows, tmp_path):
    database = open_database(postgres_url)
    settings = Settings(database_url=postgres_url)
    log_claims(database)
    jobs = [submit_to_gpu(database, settings, rows, limit) for limit in range(3, 8)]
    with ExitStack() as machines:
        for name in ("a", "b"):
            machines.enter_context(Machine(tmp_path / name, postgres_url))
        wait_until(lambda: [gpu for _, gpu, _ in sessions_of(database).values()] == [0, 0], "both have looked", 60)
        assert claimers(database) == {} and {state(database, job) for job in jobs} == {"queued"}
        without = set(sessions_of(database))
        machine = machines.enter_context(Machine(tmp_path / "c", postgres_url, 81_559, 24_000))
        for job in jobs:
            wait_for(database, job)
        later = [submit_to_gpu(database, settings, rows, limit) for limit in range(8, 13)]
        for job in later:
            wait_for(database, job)
        (with_gpu,) = set(sessions_of(database)) - without
        assert sessions_of(database)[with_gpu] == ("cpu,llm,gpu", 2, 24_000)
        assert claimers(database) == {job: {with_gpu} for job in [*jobs, *later]}
        assert "torch finds 2 GPUs; the smallest has 25.2 GB" in machine.process.err
    with database.engine.connect() as connection:
        assert progress(connection, jobs[0]) == {"done": 3}
    database.close()
