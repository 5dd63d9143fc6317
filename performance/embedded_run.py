"""This project without servers: SQLite and a dispatcher for one job, in one process. Submitting is part of the work.

Option `at-end` hands an episode's steps to the journal when it ends (performance/at_end.py).
"""

from __future__ import annotations

import os

from db.engine.connection import Database, open_database
from db.engine.migrate import upgrade
from db.queries.jobs import get_job
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.settings import Settings
from lumos_queue.submission.store import Rows, submit
from performance.contender import Measurement, Meter, Spec, main
from performance.jobs import evaluation, right_answers, rows_of
from workers.context import WorkerContext
from workers.dispatcher import Dispatcher


def settings_of(spec: Spec) -> Settings:
    return Settings(home=spec.path, database_url=spec.database_url, concurrency=spec.in_flight)


def run_job(process: WorkerContext, database: Database, url: str, rows: Rows) -> str:
    """Submit a job and work until it has ended; returns its id. Raises RuntimeError when it ends in another way."""
    job = evaluation(url, rows)
    identifier, _ = submit(database, process.settings, job, rows)
    Dispatcher(process, [job.pool], only=identifier).run(lambda: False)
    with database.engine.connect() as connection:
        state = get_job(connection, identifier).state
    if state != "done":
        raise RuntimeError(f"job {identifier} is {state}")
    return identifier


def run(spec: Spec) -> Measurement:
    if spec.option == "at-end":
        from performance.at_end import keep_until_the_end

        keep_until_the_end()
    settings = settings_of(spec)
    database = open_database(settings.database)
    upgrade(database)
    process = WorkerContext(Deployment(settings))
    try:
        run_job(process, database, spec.url, rows_of(spec.warm_up(), spec.path / "warm.jsonl"))
        rows = rows_of(spec.work(), spec.path / "work.jsonl")
        meter = Meter(spec, os.getpid())
        identifier = run_job(process, database, spec.url, rows)
        measurement = meter.stop(0)
        measurement.right = right_answers(database, identifier)
        return measurement
    finally:
        process.close()
        database.close()


if __name__ == "__main__":
    main(run)
