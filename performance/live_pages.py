"""What open pages of the explorer cost a job that they follow: its rate with 20 of them beside its rate with none.

python -m performance.live_pages [--pairs 5] [--pages 20] [--episodes 1500]

The job runs embedded on SQLite, as fast as a fake model server with 64 slots allows; the explorer is a process of its
own on the same cores. Runs with and without pages alternate.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
from sqlalchemy import select

from db.engine.connection import open_database
from db.engine.migrate import upgrade
from db.models import JobRow
from lumos_queue.settings import Settings
from performance.explorer import start_explorer
from performance.jobs import rows_of
from performance.questions import question
from performance.server import start_server
from performance.statistics import estimate

LATENCY, SLOTS = 0.02, 64  #: seconds of each model call, and how many of them at once
LIMIT = 0.05  #: of the rate


def run(episodes: int, pages: int) -> tuple[float, int]:
    """Episodes a second of one job that so many open pages follow, and how many events they got."""
    with start_server(LATENCY, SLOTS) as server, tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        database = open_database(Settings(home=home).database)
        upgrade(database)
        rows_of(map(question, range(episodes)), home / "rows.jsonl")
        try:
            with start_explorer(database.url) as client:
                endpoint = server.replace("http://", "tgi://")
                models = ["--planner", endpoint, "--grounder", endpoint]
                arguments = ["evaluate", "gsm8k", "--data", str(home / "rows.jsonl"), *models, "--json"]
                work = subprocess.Popen(
                    [sys.executable, "-m", "lumos_queue.cli.main", *arguments],
                    env=os.environ | {"LUMOS_HOME": folder},
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
                with follow_streams(client, _wait_for_job(database), pages) as event_counts:
                    work.wait()
            with database.engine.connect() as connection:
                job = connection.execute(select(JobRow.__table__)).one()
            return job.items / (job.finished_at - job.started_at), sum(event_counts)
        finally:
            database.close()


@contextmanager
def follow_streams(client: httpx2.Client, job: str, pages: int) -> Iterator[list[int]]:
    """So many streams of a job are read; yields how many events each has got."""
    event_counts, threads = [0] * pages, list[threading.Thread]()

    def follow(number: int) -> None:
        with client.stream("GET", f"/jobs/{job}/live") as answer:
            for line in answer.iter_lines():
                event_counts[number] += line == "event: live"

    for number in range(pages):
        threads.append(threading.Thread(target=follow, args=[number], daemon=True))
        threads[-1].start()
    yield event_counts
    for thread in threads:
        thread.join(10)


def _wait_for_job(database) -> str:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with database.engine.connect() as connection:
            if job := connection.execute(select(JobRow.id)).scalar():
                return job
        time.sleep(0.05)
    raise RuntimeError("no job was submitted within a minute")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--pages", type=int, default=20)
    parser.add_argument("--episodes", type=int, default=1500)
    options = parser.parse_args()
    ratios = []
    for number in range(options.pairs):
        order = (0, options.pages) if number % 2 else (options.pages, 0)
        rates = {pages: run(options.episodes, pages) for pages in order}
        (alone, _), (beside, events) = rates[0], rates[options.pages]
        ratios.append(beside / alone)
        print(
            f"{alone:.1f} episodes/s alone, {beside:.1f} with {options.pages} pages, {events} events: {ratios[-1]:.3f}"
        )
    ratio = estimate(ratios)
    print(f"rate with pages / without: {ratio.median:.3f} [{ratio.low:.3f}, {ratio.high:.3f}], goal {1 - LIMIT:.2f}")
    return 0 if ratio.median >= 1 - LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
