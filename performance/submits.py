"""Submitting many items: what the client pays until they are durable. Reading the file is not part of it.

python -m performance.submits
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from pathlib import Path

from db.connection import open_database
from db.migrate import upgrade
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
    other = replace(job, infer=replace(job.infer, seed=1))
    found = {}
    for name, each in (("", job), ("known_", other)):
        cpu, began = time.process_time(), time.perf_counter()
        submit(database, settings, each, rows)
        found |= {f"{name}cpu": time.process_time() - cpu, f"{name}seconds": time.perf_counter() - began}
    database.close()
    return found


def measure(servers: Servers | None, pairs: int, quick: bool) -> dict[str, list[float]]:
    """CPU seconds by goal."""
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="lumos-performance-") as name:
        for size, label, times in ((10_000, "submit", pairs), (100_000, "submit-100k", 1)):
            if quick and size > 10_000:
                continue
            rows = rows_of(questions(1, size), Path(name) / "rows.jsonl")
            for number in range(times):
                places = {"sqlite": ""} | ({"postgres": servers.postgres.fresh()} if servers else {})
                for place, url in places.items():
                    values = measure_submits(rows, Path(name) / f"{label}-{number}", url)
                    found.setdefault(f"{label}-{place}", []).append(values["cpu"])
                    for each, value in values.items():
                        found.setdefault(f"{label}-{place}.{each}", []).append(value)
    return found


if __name__ == "__main__":
    with start_servers() as running:
        for key, values in measure(running, 3, False).items():
            print(f"{key:34}", *(f"{value:.3f}" for value in values))
