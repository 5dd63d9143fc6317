"""Read the rows of a request, compute digests, and store the job in one transaction."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from db.engine.connection import Database
from db.engine.json_columns import is_object
from db.journal.artifacts import count_named, name_artifact, store_artifact
from db.kinds.job_kinds import JobKind
from db.queries.jobs import get_job
from db.queue.datasets import NewDataset
from db.queue.new_jobs import create_job
from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.benchmarks.checks import is_built_in
from lumos_queue.commands import Digest
from lumos_queue.errors import BadRow, LumosError, SpecError, unknown
from lumos_queue.jobs.base import Job
from lumos_queue.jobs.new_job import make_new_job
from lumos_queue.records import Origin, Task
from lumos_queue.reports.baselines import load_or_compute_baselines
from lumos_queue.settings import Settings
from lumos_queue.submission.submit_options import DEFAULT_SUBMIT_OPTIONS, SubmitOptions
from lumos_queue.submission.task_file import IN_MEMORY, FirstTasks, TaskFile
from lumos_queue.util.failures import format_failure
from lumos_queue.util.images import media_type_of, read_image
from lumos_queue.util.sanitize import storable, storable_json

log = logging.getLogger(__name__)

_TEXTS = frozenset({str})
MAX_LISTED = 5  #: bad rows named in one message


class BadRows:
    """The number of rows that could not be read, and the first MAX_LISTED of them, because every row may be bad."""

    def __init__(self) -> None:
        self._first: list[BadRow] = []
        self._count = 0

    def add(self, row: BadRow) -> None:
        self._count += 1
        if len(self._first) < MAX_LISTED:
            self._first.append(row)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> BadRow:
        return self._first[index]

    def __str__(self) -> str:
        first = "; ".join(str(row)[:200] for row in self._first)
        suffix = f"; and {self._count - MAX_LISTED} more" if self._count > MAX_LISTED else ""
        return f"{self._count} row{'s' * (self._count > 1)} ({first}{suffix})"


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a benchmark that could be read, as tasks, and the rows that could not be read."""

    benchmark: Benchmark
    split: str
    digest: str
    tasks: Sequence[Task]
    bad: BadRows | tuple[BadRow, ...]
    file_sha256: str = ""  #: this and the next field: as in NewDataset
    published: str = ""

    def dataset(self) -> NewDataset:
        return NewDataset(
            self.digest,
            self.benchmark.name,
            self.split,
            self.benchmark.licence,
            self.tasks,
            self.file_sha256,
            self.published,
        )


def _rows_of_plugin(benchmark: Benchmark, read: Callable[[], Iterable[Any]]) -> Iterator[Task | BadRow]:
    """Yield the rows of a plug-in's benchmark. Raises SpecError if `read` fails or yields anything but rows."""
    try:
        for number, row in enumerate(read(), start=1):
            if not isinstance(row, Task | BadRow):
                raise SpecError(
                    f"The benchmark '{benchmark.name}' gives {row!r:.80} as row {number}: expected an lq.Task, or an "
                    "lq.BadRow with the reason why the row cannot be a task."
                )
            yield row
    except (LumosError, OSError):
        raise
    except Exception as error:
        raise SpecError(
            f"The benchmark '{benchmark.name}' fails while its rows are read: {format_failure(error)}."
        ) from error


def read_rows(
    benchmark: Benchmark,
    path: Path | None,
    split: str,
    skip_bad_rows: bool,
    options: Mapping[str, str] | None = None,
    sample: Callable[[Sequence[Task]], Sequence[Task]] | None = None,
    teaching: bool = False,
) -> Rows:
    """Return all rows of a benchmark, or the rows that `sample` selects; `teaching` reads its rows for conversions.

    Raises SpecError, which names the bad rows, unless `skip_bad_rows` is set or they are always left out
    (BadRow.leave_out). Also raises SpecError for options that the benchmark does not have.
    """
    reading = benchmark.teaching if teaching else benchmark
    for name in options or {}:
        if name not in reading.options:
            raise unknown(f"option of the benchmark '{benchmark.name}'", name, reading.options)
    if benchmark.needs_data and path is None:
        raise SpecError(
            f"The rows of the benchmark '{benchmark.name}' are in a file: give its original file with --data PATH."
        )
    if not benchmark.needs_data and path is not None and not reading.options:  # options say how a file is read
        raise SpecError(f"The benchmark '{benchmark.name}' is generated and reads no file: leave out --data.")
    tasks, content = TaskFile(benchmark.name), Digest(benchmark.name)
    bad, fatal_rows = BadRows(), BadRows()
    read = partial(reading.read, path, split, **(options or {}))
    for row in read() if is_built_in(benchmark) else _rows_of_plugin(benchmark, read):
        if isinstance(row, BadRow):
            bad.add(row)
            if not row.leave_out:
                fatal_rows.add(row)
            continue
        task, canonical = _prepare(row)
        tasks.append(task)
        content.add(canonical)
    if fatal_rows and not skip_bad_rows:
        raise SpecError(
            f"{path or 'rows'}: {fatal_rows} cannot be read, {len(tasks)} can. Fix them, or skip them "
            "with --skip-bad-rows."
        )
    if not tasks:
        raise SpecError(f"{path or benchmark.name}: no row can be read" + (f": {bad}." if bad else "."))
    if sample:
        sampled_tasks, tasks, content = sample(tasks), TaskFile(benchmark.name), Digest(benchmark.name)
        for task in sampled_tasks:
            tasks.append(task)
            content.add(_canonical(task))
    name = content.hexdigest()
    return Rows(benchmark, split, name, tasks.freeze(name), bad)


def submit(
    database: Database,
    settings: Settings,
    job: Job[Any],
    rows: Rows | None,
    options: SubmitOptions = DEFAULT_SUBMIT_OPTIONS,
    windows: int = 0,
) -> tuple[str, bool]:
    """Store a job with its items; return its id, and whether it is new.

    `windows` is the number of items of a training job, whose rows are stored for the jobs that it submits. 0: the rows
    are the items.
    """
    if rows:
        _store_artifacts(database, rows)
    new = make_new_job(
        job,
        settings,
        split=rows.split if rows else "",
        licence=rows.benchmark.licence if rows else "",
        scheduling=options.scheduling,
        origin=_origin(job, rows),
    )
    new = replace(new, name=options.name_and_tags.name, tags=options.name_and_tags.tags)
    infer_spec = new.spec.get("infer", new.spec)
    identifier, is_new = create_job(
        database,
        new,
        rows.dataset() if rows else None,
        limit=infer_spec.get("limit", 0),
        samples=0 if windows else infer_spec.get("samples", 1),
        windows=windows,
        again=options.again,
    )
    if rows:
        _store_lost_artifacts(database, rows)
        if is_new and job.kind == JobKind.EVALUATE:
            _keep_baselines(database, identifier, rows, infer_spec.get("limit", 0))
    return identifier, is_new


def _keep_baselines(database: Database, job: str, rows: Rows, limit: int) -> None:
    """Store the baselines of a large job's rows, so that its report does not read the rows again.

    If this fails, the job stays stored, and its report computes the baselines.
    """
    tasks = FirstTasks(rows.tasks, limit or len(rows.tasks))
    if len(tasks) <= IN_MEMORY:  # a report of so few rows reads them in less than a second
        return
    try:
        with database.engine.connect() as connection:
            load_or_compute_baselines(
                connection, get_job(connection, job), rows.benchmark, lambda _connection, _job: tasks
            )
    except (LumosError, OSError) as error:
        log.warning("the baselines of job %s are computed for its report: %s", job, format_failure(error))


def _store_artifacts(database: Database, rows: Rows) -> None:
    """Store the images that the tasks name. Call this before the job is stored: an image without a job does no harm."""
    for sha256, source in rows.benchmark.artifacts.items():
        if isinstance(source, bytes):
            data, media_type = source, media_type_of(source)
        else:
            image = read_image(source)
            if image.sha256 != sha256:
                raise SpecError(f"'{source}' has changed since it was read: submit the job again.")
            data, media_type = image.data, image.media_type
        with database.writer.begin() as connection:
            name_artifact(connection, rows.digest, store_artifact(connection, data, media_type))


def _store_lost_artifacts(database: Database, rows: Rows) -> None:
    """Store images again if another process removed them, with the rows' last job, before the new job was stored."""
    if not rows.benchmark.artifacts:
        return
    with database.engine.connect() as connection:
        stored_count = count_named(connection, rows.digest)
    if stored_count < len(rows.benchmark.artifacts):
        _store_artifacts(database, rows)


def _origin(job: Job[Any], rows: Rows | None) -> Origin:
    """Return the origin of the job's episodes: `derived` if the tasks contain replies (execution/prefill.py)."""
    if job.kind == JobKind.CONVERT:
        return Origin.CONVERTED
    return Origin.DERIVED if rows and any("given" in task.inputs for task in rows.tasks[:1]) else Origin.RUN


def _prepare(task: Task) -> tuple[Task, str]:
    """Return the task without characters that cannot be stored, and its text for the dataset's digest."""
    if _is_flat(task.inputs) and _is_flat(task.gold):  # most tasks: no text of them has to be read
        canonical = _canonical(task)
        if canonical.isascii() and "\\u0000" not in canonical:
            return task, canonical
    task = _sanitize_task(task)
    return task, _canonical(task)


def _is_flat(value: object) -> bool:
    """Return whether the value is None, a text, or a mapping from texts to texts."""
    if is_object(value):
        return _TEXTS.issuperset(map(type, value)) and _TEXTS.issuperset(map(type, value.values()))
    return value is None or type(value) is str


def _sanitize_task(task: Task) -> Task:
    return Task(
        task.benchmark,
        task.dataset,
        storable(task.row)[0],
        storable(task.question)[0],
        storable_json(dict(task.inputs)),
        storable_json(task.gold),
    )


_write_sorted = json.JSONEncoder(sort_keys=True, ensure_ascii=False).encode  # made once, not for each row


def _canonical(task: Task) -> str:
    return _write_sorted([task.row, task.question, task.inputs, task.gold])
