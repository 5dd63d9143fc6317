"""Rows a second and memory of reading a file of your own rows, beside the csv module on the same machine.

    python -m performance.own_files [--rows 1000000]

Each measurement is a process of its own, and all of them read the same rows. `read` is `read_records` alone, `store`
is `read_rows`, which makes tasks of them and writes them to a temporary file as a job does before it is stored.
Memory is the peak above that of an empty run: a process that has imported the same and reads a file of one row.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lumos_queue.benchmarks.gsm8k.benchmark import GSM8K
from lumos_queue.errors import BadRow
from lumos_queue.readers.records import read_records
from lumos_queue.readers.rows import tasks
from lumos_queue.records import Task
from lumos_queue.submission.store import read_rows

NAMES = ("id", "question", "answer", "topic")
FILES = ("rows.csv", "rows.csv.gz", "rows.jsonl", "rows.json", "rows.parquet")
WAYS = ("read", "store")


class OwnRows(GSM8K):
    """A benchmark that does nothing but take the fields of a row."""

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        return tasks(read_records(path, "rows", NAMES), _make_task)


def _make_task(row: int, record: Mapping[str, Any]) -> Task:
    gold = {"answer": record["answer"], "meta": {"topic": record["topic"]}}
    return Task("gsm8k", "", record["id"], record["question"], gold=gold)


def write_files(folder: Path, count: int) -> None:
    """Write the same rows in every format."""
    import pyarrow
    from pyarrow import parquet

    rows = [_make_row(number) for number in range(count)]
    with (folder / "rows.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(NAMES)
        writer.writerows(rows)
    with (folder / "rows.csv").open("rb") as plain, gzip.open(folder / "rows.csv.gz", "wb", 6) as archive:
        shutil.copyfileobj(plain, archive)
    records = [dict(zip(NAMES, row, strict=True)) for row in rows]
    with (folder / "rows.jsonl").open("w") as file:
        file.writelines(f"{json.dumps(record)}\n" for record in records)
    (folder / "rows.json").write_text(json.dumps(records))
    columns = {name: list(cells) for name, cells in zip(NAMES, zip(*rows, strict=True), strict=True)}
    parquet.write_table(pyarrow.table(columns), folder / "rows.parquet", row_group_size=count)


def _make_row(number: int) -> tuple[str, ...]:
    first, increase, fewer = number % 97, number % 89, number % 13
    question = (
        f"Ida has {first} tarts, buys {increase} more at the market and gives {fewer} away. How many does she have?"
    )
    return f"q{number}", question, str(first + increase - fewer), ("algebra", "counting", "sums")[number % 3]


def _measure(way: str, path: Path) -> dict[str, float]:
    """Read the file in this process; return rows a second of processor time, and the peak of memory in MB."""
    start = time.process_time()
    if way == "csv":
        with path.open(newline="") as file:
            count = sum(1 for _ in csv.reader(file)) - 1
    elif way == "read":
        count = sum(1 for _ in read_records(path, "rows", NAMES))
    else:
        count = len(read_rows(OwnRows(), path, "test", False).tasks)
    seconds = time.process_time() - start
    return {"rate": count / seconds, "memory": _peak_megabytes()}


def _peak_megabytes() -> float:
    """Return the peak of this process; that of `getrusage` counts the one that started it, too."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1000


def _measure_apart(way: str, path: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "performance.own_files", "--measure", way, str(path)]
    process = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(process.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description="Rows a second and memory of reading your own rows.")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of each file")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(_measure(options.measure[0], Path(options.measure[1]))))
        return
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "empty").mkdir()
        write_files(folder / "empty", 1)
        write_files(folder, options.rows)
        bare = _measure_apart("csv", folder / FILES[0])["rate"]
        print(f"{options.rows:,} rows; the csv module: {bare:,.0f} rows/s")
        print(f"{'':8}{'file':14}{'rows/s':>12}{'of csv':>9}{'MB above an empty run':>24}")
        for way in WAYS:
            for file in FILES:
                empty = _measure_apart(way, folder / "empty" / "rows.csv")["memory"]
                result = _measure_apart(way, folder / file)
                share, extra_memory = result["rate"] / bare, result["memory"] - empty
                print(f"{way:8}{file:14}{result['rate']:12,.0f}{share:9.2f}{extra_memory:24,.0f}")


if __name__ == "__main__":
    main()
