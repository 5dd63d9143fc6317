"""What the database's work costs by itself: claims among many finished items, a flush, an episode; and old snapshots.

python -m performance.claims [--quick | --large]

With `--large` only claims on PostgreSQL, among up to ten million finished items.
"""

from __future__ import annotations

import re
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from statistics import median

import psycopg
from sqlalchemy import event

from db.engine.connection import Database
from db.queue.commit import commit
from performance.full_database import Stock
from performance.processes import tree_cpu
from performance.servers import Servers, start_servers

WANTED, TIMES, STEPS = 64, 20, 200
_OF_ITEMS = re.compile(r"(SELECT|UPDATE)\b(?!.*\btask\.)(?!.*\bepisode\b).*\bitem\b", re.DOTALL)


class Spans:
    """Seconds from the first to the last statement of a claim that looks for or marks items."""

    def __init__(self, stock: Stock):
        self.began = self.ended = 0.0
        event.listen(stock.database.engine, "before_cursor_execute", self._before)
        event.listen(stock.database.engine, "after_cursor_execute", self._after)

    def _before(self, _connection, _cursor, statement, *_) -> None:
        if not self.began and _OF_ITEMS.match(statement):
            self.began = time.perf_counter()

    def _after(self, _connection, _cursor, statement, *_) -> None:
        if _OF_ITEMS.match(statement):
            self.ended = time.perf_counter()

    def take(self) -> float:
        seconds, self.began, self.ended = self.ended - self.began, 0.0, 0.0
        return seconds


def time_claims(
    stock: Stock, spans: Spans, times: int, finish: bool = False, fresh: bool = False
) -> tuple[list[float], list[float]]:
    """Milliseconds of the claims' statements about items, and of the whole transactions."""
    statement_times, whole = [], []
    for _ in range(times):
        spans.take()
        began = time.perf_counter()
        items = stock.claim(WANTED, fresh)
        whole.append(1000 * (time.perf_counter() - began))
        statement_times.append(1000 * spans.take())
        assert len(items) == WANTED, len(items)
        if finish:
            stock.finish(items)
    return statement_times, whole


def among(folder: Path, url: str, sizes: list[int], server_pid: int | None) -> dict[str, list[float]]:
    """Measure claims beside each number of finished items; then a flush of 200 steps and whole episodes."""
    stock = Stock(folder, url, item_count=WANTED * TIMES * (len(sizes) + 2) + 1)
    spans, timings = Spans(stock), {}
    try:
        time_claims(stock, spans, 2)
        for size in sizes:
            stock.fill(size)
            time_claims(stock, spans, 2)  # the first statements after a change are planned anew
            claims, whole = time_claims(stock, spans, TIMES - 2)
            timings |= {f"claim-{size}": claims, f"claim-whole-{size}": whole}
        flushes, server = [], 0.0
        cpu, wall, episodes = 0.0, 0.0, 0
        for _ in range(5):
            began, cpu_began, server_began = time.perf_counter(), time.process_time(), _cpu(server_pid)
            items = stock.claim(WANTED)
            wall, cpu, server = _add((wall, cpu, server), began, cpu_began, server_began, server_pid)
            for batch in stock.record(items, STEPS):
                began, cpu_began, server_began = time.perf_counter(), time.process_time(), _cpu(server_pid)
                commit(stock.database, stock.holder, batch)
                flushes.append(1000 * (time.perf_counter() - began))
                wall, cpu, server = _add((wall, cpu, server), began, cpu_began, server_began, server_pid)
            episodes += len(items)
        timings["flush-200"] = flushes
        for name, seconds in (("wall", wall), ("cpu", cpu), ("server-cpu", server)):
            timings[f"episode-{name}"] = [1000 * seconds / episodes]
    finally:
        stock.close()
    return timings


def _cpu(pid: int | None) -> float:
    return tree_cpu(pid) if pid else 0.0


def _add(sums, began: float, cpu_began: float, server_began: float, pid: int | None):
    now, cpu = time.perf_counter(), time.process_time()
    return sums[0] + now - began, sums[1] + cpu - cpu_began, sums[2] + _cpu(pid) - server_began


@contextmanager
def old_snapshot(database: Database) -> Iterator[None]:
    """A transaction that saw the database as it is now and stays open."""
    if database.is_sqlite:
        with closing(sqlite3.connect(str(database.engine.url.database), isolation_level=None)) as connection:
            connection.execute("BEGIN")
            connection.execute("SELECT count(*) FROM item")
            yield
        return
    with psycopg.connect(database.url.replace("+psycopg", "", 1)) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.execute("SELECT count(*) FROM item")
        yield
        connection.rollback()


def after_churn(folder: Path, url: str, rounds: int, snapshot: bool) -> tuple[float, float]:
    """Return the milliseconds of a claim after `rounds` rounds, each of which claims and finishes 64 items.

    The first figure is that of a slice in full work, the second that of a slice that has just begun.
    """
    stock = Stock(folder, url, item_count=WANTED * (rounds + 2 * TIMES) + 1)
    try:
        spans = Spans(stock)
        with old_snapshot(stock.database) if snapshot else nullcontext():
            time_claims(stock, spans, rounds, True)
            steady, _ = time_claims(stock, spans, TIMES, True)
            fresh, _ = time_claims(stock, spans, TIMES, True, fresh=True)
            return median(steady), median(fresh)
    finally:
        stock.close()


def measure(servers: Servers | None, pairs: int, quick: bool) -> dict[str, list[float]]:
    """Return the ratios by goal, and under `claims-…` each figure of each database in milliseconds."""
    timings: dict[str, list[float]] = {}
    sizes = [10**3, 10**4] if quick else [10**3, 10**4, 10**5, 10**6]
    with tempfile.TemporaryDirectory(prefix="lumos-performance-") as name:
        urls = {"sqlite": ""} | ({"postgres": servers.postgres.fresh()} if servers else {})
        for backend, url in urls.items():
            pid = servers.postmaster if servers and url else None
            figures = among(Path(name) / backend, url, sizes, pid)
            timings |= {f"claims-{backend}.{key}": figure for key, figure in figures.items()}
            if not quick:
                largest, before = (figures[f"claim-{size}"] for size in (sizes[-1], sizes[-2]))
                timings[f"claim-{backend}"] = [milliseconds / median(before) for milliseconds in largest]
                timings[f"claim-ms-{backend}"] = largest
        for backend in urls:
            for number in range(1 if quick else min(pairs, 3)):
                with_snapshot, free = (
                    after_churn(
                        Path(name) / f"churn-{backend}-{number}-{snapshot}",
                        servers.postgres.fresh() if servers and backend == "postgres" else "",
                        50 if quick else 300,
                        snapshot,
                    )
                    for snapshot in (True, False)
                )
                for key, old, new in zip(
                    (f"churn-{backend}", f"churn-fresh-{backend}"), with_snapshot, free, strict=True
                ):
                    timings.setdefault(key, []).append(old / new)
                    timings.setdefault(f"claims-{backend}.{key}-ms", []).append(old)
    return timings


def measure_large(servers: Servers) -> dict[str, list[float]]:
    with tempfile.TemporaryDirectory(prefix="lumos-performance-") as name:
        return among(Path(name) / "large", servers.postgres.fresh(), [10**5, 10**6, 10**7], servers.postmaster)


if __name__ == "__main__":
    with start_servers() as running:
        found = measure_large(running) if "--large" in sys.argv else measure(running, 3, "--quick" in sys.argv)
    for key, values in found.items():
        print(f"{key:40} median {median(values):8.3f}   {min(values):8.3f} to {max(values):8.3f}")
