"""Submitting many items: what the client pays until they are durable. Reading the file is not part of it.

python -m performance.submits
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from pathlib import Path

from db.engine.connection import open_database
from db.engine.migrate import upgrade
from lumos_queue.settings import Settings
from lumos_queue.submission.store import Rows, submit
from performance.jobs import evaluation, rows_of
from performance.questions import questions
from performance.servers import Servers, start_servers


def measure_submits(rows: Rows, folder: Path, database_url: str) -> dict[str, float]:
    """CPU seconds of this process and seconds by the clock: of a job with new rows, then of another on the same."""
    settings = Settings(home=folder, database_url=database_url)
    database = open_database(settings.database)
    upgrade(database)
    job = evaluation("http://127.0.0.1:9", rows)
    second_job = replace(job, infer=replace(job.infer, seed=1))
    timings = {}
    for name, next_job in (("", job), ("known_", second_job)):
        cpu, began = time.process_time(), time.perf_counter()
        submit(database, settings, next_job, rows)
        timings |= {f"{name}cpu": time.process_time() - cpu, f"{name}seconds": time.perf_counter() - began}
    database.close()
    return timings


def measure(servers: Servers | None, pairs: int, quick: bool) -> dict[str, list[float]]:
    """CPU seconds by goal."""
    timings: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="lumos-performance-") as name:
        for size, label, times in ((10_000, "submit", pairs), (100_000, "submit-100k", 1)):
            if quick and size > 10_000:
                continue
            rows = rows_of(questions(1, size), Path(name) / "rows.jsonl")
            for number in range(times):
                urls = {"sqlite": ""} | ({"postgres": servers.postgres.fresh()} if servers else {})
                for backend, url in urls.items():
                    values = measure_submits(rows, Path(name) / f"{label}-{number}", url)
                    timings.setdefault(f"{label}-{backend}", []).append(values["cpu"])
                    for figure, value in values.items():
                        timings.setdefault(f"{label}-{backend}.{figure}", []).append(value)
    return timings


if __name__ == "__main__":
    with start_servers() as running:
        for key, values in measure(running, 3, False).items():
            print(f"{key:34}", *(f"{value:.3f}" for value in values))
