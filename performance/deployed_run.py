"""This project deployed: Celery workers on Redis and PostgreSQL. Submitting is part of the work."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from db.engine.connection import Database, open_database
from db.queries.jobs import get_job
from lumos_queue.settings import Settings
from lumos_queue.submission.store import Rows, submit
from performance.celery_worker import start_worker
from performance.contender import Measurement, Meter, Spec, main
from performance.jobs import evaluation, right_answers, rows_of
from workers.notify import notify_workers

LOOK_SECONDS = 0.1  #: how often the job's state is asked for: a query of a fraction of a millisecond


def settings_of(spec: Spec) -> Settings:
    concurrency = max(1, spec.in_flight // spec.processes)
    return Settings(home=spec.path, database_url=spec.database_url, broker_url=spec.broker_url, concurrency=concurrency)


@contextmanager
def workers(spec: Spec, settings: Settings) -> Iterator[int]:
    """As many processes as the spec says; yields the id of their parent."""
    variables = {
        "LUMOS_HOME": spec.folder,
        "LUMOS_DATABASE_URL": spec.database_url,
        "LUMOS_BROKER_URL": spec.broker_url,
        "LUMOS_CONCURRENCY": str(settings.concurrency),
    }
    options = ["-Q", "llm", "-c", str(spec.processes)]
    with start_worker("workers.app", options, spec.path / "llm.log", variables) as pid:
        yield pid


def run_job(database: Database, settings: Settings, url: str, rows: Rows, limit: float = 300.0) -> tuple[str, float]:
    """Submit a job and wait; its id, and when it was finished. Raises RuntimeError when it does not get done."""
    job = evaluation(url, rows)
    identifier, _ = submit(database, settings, job, rows)
    if not notify_workers(settings, job.kind, identifier, len(rows.tasks), job.pool):
        raise RuntimeError("the broker takes no message")
    until = time.monotonic() + limit
    while True:
        with database.engine.connect() as connection:
            row = get_job(connection, identifier)
        if row.state == "done" and row.finished_at is not None:
            return identifier, row.finished_at
        if time.monotonic() > until:
            raise RuntimeError(f"job {identifier} is {row.state} after {limit:g} s: {row.waiting}")
        time.sleep(LOOK_SECONDS)


def run(spec: Spec) -> Measurement:
    settings = settings_of(spec)
    database = open_database(settings.database)
    try:
        with workers(spec, settings) as pid:
            run_job(database, settings, spec.url, rows_of(spec.warm_up(), spec.path / "warm.jsonl"))
            rows = rows_of(spec.work(), spec.path / "work.jsonl")
            # The parent of the workers is a child of this process: one tree.
            meter = Meter(spec, os.getpid())
            identifier, end_time = run_job(database, settings, spec.url, rows)
            measurement = meter.stop(0, end_time, worker=pid)
        measurement.right = right_answers(database, identifier)
        return measurement
    finally:
        database.close()


if __name__ == "__main__":
    main(run)
