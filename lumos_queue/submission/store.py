"""Read the rows of a request, compute digests, and store the job in one transaction."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from db.artifacts import count_named, name_artifact, store_artifact
from db.connection import Database
from db.datasets import NewDataset
from db.new_jobs import create_job
from db.tags import UNNAMED, NameAndTags
from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.commands import digest
from lumos_queue.errors import BadRow, SpecError, unknown
from lumos_queue.jobs.base import Job
from lumos_queue.jobs.new_job import make_new_job
from lumos_queue.records import Task
from lumos_queue.settings import Settings
from lumos_queue.util.images import media_type_of, read_image
from lumos_queue.util.sanitize import storable, storable_json

MAX_LISTED = 5  #: bad rows named in one message


@dataclass(frozen=True, slots=True)
class Rows:
    """A benchmark's rows as read, and the rows that could not be read."""

    benchmark: Benchmark
    split: str
    digest: str
    tasks: tuple[Task, ...]
    bad: tuple[BadRow, ...]

    def dataset(self) -> NewDataset:
        return NewDataset(self.digest, self.benchmark.name, self.split, self.benchmark.licence, self.tasks)


def read_rows(
    benchmark: Benchmark,
    path: Path | None,
    split: str,
    skip_bad_rows: bool,
    options: Mapping[str, str] | None = None,
    sample: Callable[[Sequence[Task]], Sequence[Task]] | None = None,
    teaching: bool = False,
) -> Rows:
    """All rows of a benchmark, or those that `sample` draws; with `teaching` as they are read to teach with.

    Raises SpecError naming the bad rows, unless `skip_bad_rows` is set or they are always left out (BadRow.leave_out);
    also for options that the benchmark does not have.
    """
    reading = benchmark.teaching if teaching else benchmark
    for name in options or {}:
        if name not in reading.options:
            raise unknown(f"option of the benchmark '{benchmark.name}'", name, reading.options)
    if benchmark.needs_data and path is None:
        raise SpecError(
            f"The benchmark '{benchmark.name}' has no data of its own: give its original file with --data PATH."
        )
    if not benchmark.needs_data and path is not None and not reading.options:  # options say how a file is read
        raise SpecError(f"The benchmark '{benchmark.name}' is generated: it reads no --data.")
    tasks: list[Task] = []
    bad: list[BadRow] = []
    for row in reading.read(path, split, **(options or {})):
        if isinstance(row, BadRow):
            bad.append(row)
        else:
            tasks.append(_sanitize_task(row))
    wrong = [row for row in bad if not row.leave_out]
    if wrong and not skip_bad_rows:
        raise SpecError(
            f"{path}: {_list_bad_rows(wrong)} cannot be read, {len(tasks)} can. "
            "Fix them, or skip them with --skip-bad-rows."
        )
    if not tasks:
        raise SpecError(f"{path or benchmark.name}: no row can be read" + (f": {_list_bad_rows(bad)}." if bad else "."))
    if sample:
        tasks = list(sample(tasks))
    content = digest(benchmark.name, *(_canonical(task) for task in tasks))
    return Rows(benchmark, split, content, tuple(replace(task, dataset=content) for task in tasks), tuple(bad))


def submit(
    database: Database,
    settings: Settings,
    job: Job,
    rows: Rows | None,
    *,
    named: NameAndTags = UNNAMED,
    windows: int = 0,
    priority: int = 0,
    again: bool = False,
) -> tuple[str, bool]:
    """Store a job with its items; returns its id and whether it is new (if not, the same request was made before).

    With `windows` the items are these, and the rows are kept for the jobs that this one asks for.
    """
    if rows:
        _store_artifacts(database, rows)
    new = make_new_job(
        job,
        settings,
        split=rows.split if rows else "",
        licence=rows.benchmark.licence if rows else "",
        priority=priority,
        origin=_origin(job, rows),
    )
    new = replace(new, name=named.name, tags=named.tags)
    inner = new.spec.get("infer", new.spec)
    identifier, created = create_job(
        database,
        new,
        rows.dataset() if rows else None,
        limit=inner.get("limit", 0),
        samples=0 if windows else inner.get("samples", 1),
        windows=windows,
        again=again,
    )
    if rows:
        _store_lost_artifacts(database, rows)
    return identifier, created


def _store_artifacts(database: Database, rows: Rows) -> None:
    """Store the images that the tasks name: before the job, as an image without a job does no harm."""
    for expected, source in rows.benchmark.artifacts.items():
        if isinstance(source, bytes):
            data, media_type = source, media_type_of(source)
        else:
            image = read_image(source)
            if image.sha256 != expected:
                raise SpecError(f"'{source}' has changed since it was read: submit the job again.")
            data, media_type = image.data, image.media_type
        with database.writer.begin() as connection:
            name_artifact(connection, rows.digest, store_artifact(connection, data, media_type))


def _store_lost_artifacts(database: Database, rows: Rows) -> None:
    """Store them again where the last job with these rows was removed before the new one was stored."""
    with database.engine.connect() as connection:
        named = count_named(connection, rows.digest)
    if named < len(rows.benchmark.artifacts):
        _store_artifacts(database, rows)


def _origin(job: Job, rows: Rows | None) -> str:
    """The origin of the job's episodes: `derived` if its tasks carry given replies (execution/prefill.py)."""
    if job.kind == "convert":
        return "converted"
    return "derived" if rows and any("given" in task.inputs for task in rows.tasks[:1]) else "run"


def _list_bad_rows(bad: Sequence[BadRow]) -> str:
    """The number of bad rows, and the first of them."""
    first = "; ".join(str(row)[:200] for row in bad[:MAX_LISTED])
    more = f"; and {len(bad) - MAX_LISTED} more" if len(bad) > MAX_LISTED else ""
    return f"{len(bad)} row{'s' * (len(bad) > 1)} ({first}{more})"


def _sanitize_task(task: Task) -> Task:
    return replace(
        task,
        row=storable(task.row)[0],
        question=storable(task.question)[0],
        inputs=storable_json(dict(task.inputs)),
        gold=storable_json(task.gold),
    )


def _canonical(task: Task) -> str:
    return json.dumps([task.row, task.question, task.inputs, task.gold], sort_keys=True, ensure_ascii=False)
