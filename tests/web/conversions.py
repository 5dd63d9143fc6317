"""Converted episodes of wordmath, as few as pages need."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

from db.engine.connection import Database
from lumos_queue.benchmarks.wordmath.benchmark import benchmark
from lumos_queue.jobs.convert import Convert
from lumos_queue.submission.store import Rows, read_rows
from tests.stored_rows import run_embedded


@cache
def first_rows(count: int) -> Rows:
    """The first rows of the split `dev`."""
    rows = read_rows(benchmark, None, "dev", False)
    return replace(rows, tasks=rows.tasks[:count])


def convert_rows(folder: Path, count: int, repetitions: int = 0, url: str = "") -> tuple[Database, str]:
    """Convert so many rows, then the first of them again; returns the database and the id of the first job."""
    rows = first_rows(count)
    database, job = run_embedded(folder, Convert("wordmath", rows.digest, "dev", limit=count), rows, url)
    if repetitions:
        run_embedded(folder, Convert("wordmath", rows.digest, "dev", limit=repetitions), rows, url)[0].close()
    return database, job
