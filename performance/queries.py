"""What it takes to find episodes among a million steps: the documented queries, a first page, a whole export, a frame.

python -m performance.queries [--quick]
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import psutil
from sqlalchemy import text

from db.engine.connection import Database, open_database
from db.engine.snapshot import reading
from db.queries.filters import parse_where
from db.queries.trajectories import find_episodes, stream_episodes
from lumos_queue.api.episodes import episodes
from lumos_queue.settings import Settings
from performance.million import PER_JOB, make_store
from performance.servers import Unavailable, start_servers

PAGE = Path(__file__).resolve().parent.parent / "docs" / "queries.md"
TIMES = 3
#: Filters of `lumos episodes`, the costliest kinds among them; the first of two finds what is nowhere.
FILTERS = ("text~quokka", "text~river", "score=1 subgoals<=3", "score=0.3", "action=Nowhere", "error=nothing")
LIMITS = {"sqlite": 2.0, "postgresql": 1.0}  #: seconds
EXPORTED = 100_000
MEGABYTE = 1 << 20


def read_documented_queries() -> list[tuple[str, object]]:
    """(title, statement) of each query on the page that people copy from."""
    page = PAGE.read_text(encoding="utf-8")
    matches = re.findall(r"^### ([^\n]+)\n(?:(?!^### ).)*?^```sql\n(.*?);\n```", page, re.MULTILINE | re.DOTALL)
    return [(title, text(query.replace(":", r"\:"))) for title, query in matches]


def time_runs(work: Callable[[], int]) -> tuple[list[float], int]:
    """Seconds of each of some runs, after one that warms up; and how many rows the last one gave."""
    work()
    seconds, rows = [], 0
    for _ in range(TIMES):
        began = time.perf_counter()
        rows = work()
        seconds.append(time.perf_counter() - began)
    return seconds, rows


def measure(database: Database) -> bool:
    """Print a line for each query and each filter; returns whether all kept to the limit."""
    kind = database.engine.dialect.name
    limit, fine = LIMITS[kind], True

    def ask(statement) -> int:
        with reading(database) as connection:
            return len(connection.execute(statement).fetchall())

    def find(where: str) -> int:
        with reading(database) as connection:
            return len(find_episodes(connection, parse_where(where), limit=100))

    works = [(title, lambda query=query: ask(query)) for title, query in read_documented_queries()]
    works += [(f"lumos episodes --where '{where}'", lambda where=where: find(where)) for where in FILTERS]
    for title, work in works:
        seconds, rows = time_runs(work)
        fine &= median(seconds) < limit
        mark = "" if median(seconds) < limit else f"  over {limit:g} s"
        spread = f"{median(seconds):6.3f} s [{min(seconds):.3f}, {max(seconds):.3f}]"
        print(f"{kind:10} {title:55} {rows:4} rows  {spread}{mark}", flush=True)
    return fine


def export(database: Database, limit: int) -> None:
    """Stream that many episodes and print how long it took, and how the memory of this process grew on the way."""
    process, sizes, steps, count = psutil.Process(), [], 0, 0
    began = time.perf_counter()
    for episode in stream_episodes(database, parse_where("")):
        count, steps = count + 1, steps + len(episode.steps)
        if count % (limit // 20) == 0:
            sizes.append(process.memory_info().rss / MEGABYTE)
        if count == limit:
            break
    seconds = time.perf_counter() - began
    print(
        f"{database.engine.dialect.name:10} export of {count:,} episodes with {steps:,} steps: {seconds:.0f} s, "
        f"{count / seconds:,.0f} episodes/s; MB after each twentieth: {' '.join(f'{size:.0f}' for size in sizes)}",
        flush=True,
    )


def read_frame(url: str) -> None:
    """Read every episode into a pandas frame and print how long it took, in a fresh connection each time."""
    selection = episodes(deployment=Settings(database_url=url))
    seconds, rows = time_runs(lambda: len(selection.to_pandas()))
    kind = url.partition(":")[0].partition("+")[0]
    print(
        f"{kind:10} {rows:,} episodes into a pandas frame: {median(seconds):.1f} s "
        f"[{min(seconds):.1f}, {max(seconds):.1f}]",
        flush=True,
    )


def main() -> int:
    quick = "--quick" in sys.argv
    per_job, export_count = (500, 4_000) if quick else (PER_JOB, EXPORTED)
    fine = True
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="lumos-performance-"))
        urls = [f"sqlite:///{folder}/lumos.db"]
        try:
            urls.append(stack.enter_context(start_servers()).postgres.fresh())
        except Unavailable as why:
            print(f"not on PostgreSQL: {why}")
        for url in urls:
            database = open_database(url)
            stack.callback(database.close)
            began = time.perf_counter()
            steps = make_store(database, per_job)
            load = psutil.getloadavg()[0] / (psutil.cpu_count() or 1)
            print(
                f"{database.engine.dialect.name:10} {steps:,} steps made in {time.perf_counter() - began:.0f} s; "
                f"this machine has {load:.1f} busy processes for each core"
            )
            fine &= measure(database)
            export(database, export_count)
            read_frame(url)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
