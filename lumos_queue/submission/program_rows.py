"""Read rows that a program passes: Tasks, or mappings with the fields of a benchmark's files."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.records import Task
from lumos_queue.util.runtime_types import has_type
from lumos_queue.util.sanitize import storable

GivenRows = Iterable[Task | Mapping[str, Any]]


@contextmanager
def open_program_rows(rows: GivenRows) -> Generator[Path | list[Task], None, None]:
    """Yield the Tasks, or the path of a temporary file that contains the rows as JSON lines.

    Raises SpecError if there are no rows, if only some are Tasks, and for a row that is not JSON.
    """
    if not has_type(rows, Iterable):
        raise SpecError(f"rows is {rows!r:.80}: expected a list of Tasks, or of rows as mappings.")
    all_rows = list(rows)
    if not all_rows:
        raise SpecError("rows has no row: give at least one.")
    tasks = [row for row in all_rows if isinstance(row, Task)]
    if len(tasks) == len(all_rows):
        yield tasks
        return
    if tasks:
        raise SpecError(f"rows has {len(tasks):,} Tasks and {len(all_rows) - len(tasks):,} others: give only one kind.")
    with tempfile.TemporaryDirectory(prefix="lumos-rows-") as folder:
        path = Path(folder) / "rows.jsonl"
        with open(path, "w", encoding="utf-8") as file:
            for number, row in enumerate(all_rows, 1):
                if not isinstance(row, Mapping):
                    raise BadRow(number, "", f"expected a Task or a mapping, found {type(row).__name__}")
                file.write(_write_json(number, "", dict(row)) + "\n")
        yield path


def _write_json(row: int, field: str, value: Any) -> str:
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadRow(row, field, f"cannot be written as JSON: {error}") from None


class ProgramTasks(Benchmark):
    """A benchmark that reads its rows from a list of Tasks; name, domain, licence and splits are the original's."""

    needs_data = False

    def __init__(self, benchmark: Benchmark, tasks: Sequence[Task]):
        self.name, self.domain, self.licence = benchmark.name, benchmark.domain, benchmark.licence
        self.splits, self._tasks = benchmark.splits, tasks

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        known_ids: set[str] = set()
        for number, task in enumerate(self._tasks, 1):
            if problem := self._find_problem(number, task):
                yield problem
                continue
            if (row := storable(task.row)[0]) in known_ids:  # as it will be stored
                yield BadRow(number, "row", f"'{task.row[:80]}' is the id of an earlier row")
                continue
            known_ids.add(row)
            yield task

    def _find_problem(self, number: int, task: Task) -> BadRow | None:
        for name in ("row", "question"):
            if not isinstance(value := getattr(task, name), str):
                return BadRow(number, name, f"expected a text, found {type(value).__name__}")
        if task.benchmark != self.name:
            return BadRow(number, "benchmark", f"expected '{self.name}', found {task.benchmark!r:.80}")
        if not has_type(task.inputs, Mapping):
            return BadRow(number, "inputs", f"expected a mapping, found {type(task.inputs).__name__}")
        try:
            _write_json(number, "inputs", dict(task.inputs))
            _write_json(number, "gold", task.gold)
        except BadRow as problem:
            return problem
        return None
