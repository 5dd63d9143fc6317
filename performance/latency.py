"""From a job's commit to its first request at the endpoint: one warm, idle Celery process on Redis and PostgreSQL.

python -m performance.latency
"""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from sqlalchemy import func, select

from db.engine.connection import open_database
from db.models import Attempt, EpisodeRow
from db.queries.jobs import get_job
from lumos_queue.submission.store import submit
from performance.contender import Spec
from performance.deployed_run import run_job, settings_of, workers
from performance.jobs import evaluation, rows_of
from performance.questions import questions
from performance.server import ask, start_server
from performance.servers import Servers, start_servers
from workers.notify import notify_workers

TIMES, ITEMS = 20, 8
PHASES = ("message sent", "asked who it is", "work begun", "claimed", "first request")


def measure(servers: Servers | None, pairs: int, quick: bool) -> dict[str, list[float]]:
    """Milliseconds after the commit: under `latency` of the first request, under `latency.…` of each phase before."""
    if servers is None:
        return {}
    timings: dict[str, list[float]] = {}
    with start_server(0.0, 64) as url, TemporaryDirectory(prefix="lumos-performance-") as folder:
        spec = Spec(
            url, folder, 0.0, 64, 64, ITEMS, database_url=servers.postgres.fresh(), broker_url=servers.redis.fresh()
        )
        settings = settings_of(spec)
        database = open_database(settings.database)
        with workers(spec, settings):
            run_job(database, settings, url, rows_of(questions(1, ITEMS), Path(folder) / "rows.jsonl"))
            for number in range(1, 6 if quick else TIMES + 1):
                rows = rows_of(questions(1 + ITEMS * number, ITEMS), Path(folder) / "rows.jsonl")
                job = evaluation(url, rows)
                time.sleep(0.3)  # idle again
                ask(url, "/reset")
                identifier, _ = submit(database, settings, job, rows)
                commit_time = time.time()
                notify_workers(settings, job.kind, identifier, ITEMS, job.pool)
                send_time = time.time()
                while True:
                    with database.engine.connect() as connection:
                        row = get_job(connection, identifier)
                    if row.state == "done":
                        break
                    time.sleep(0.1)
                query = select(func.min(Attempt.started_at)).join(EpisodeRow, EpisodeRow.id == Attempt.episode)
                with database.engine.connect() as connection:
                    claim_time = connection.execute(query.where(EpisodeRow.job == identifier)).scalar_one()
                assert row.started_at is not None, "the job is done"
                stats = ask(url, "/stats")
                times = (send_time, stats["first_info_at"], row.started_at, claim_time, stats["first_call_at"])
                for phase, timestamp in zip(PHASES, times, strict=True):
                    timings.setdefault(f"latency.{phase}", []).append(1000 * (timestamp - commit_time))
        database.close()
    return timings | {"latency": timings[f"latency.{PHASES[-1]}"]}


if __name__ == "__main__":
    with start_servers() as running:
        for key, values in measure(running, 5, False).items():
            print(f"{key:30} median {median(values):7.1f}   {min(values):7.1f} to {max(values):7.1f} ms")
