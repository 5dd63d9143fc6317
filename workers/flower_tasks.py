"""Describe a slice for Flower by its job's description, instead of the id, and by its result. Flower escapes texts."""

from __future__ import annotations

import re
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Protocol

from db.queries.jobs import find_job
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.util.wording import plural
from workers.describe import describe_job, shorten
from workers.slice_failed import SliceFailed
from workers.validation import JOB_ID

WAIT_SECONDS = 0.3  #: for which a page waits for the database; a job that is still unknown is shown by its id
MAX_KNOWN = 20_000  #: jobs whose descriptions are kept
MAX_SHOWN = 1000  #: characters of a result
_ARGUMENTS = re.compile(rf"[\[(]'({JOB_ID.pattern})',?[\])]")
_FAILED = re.compile(rf"{SliceFailed.__name__}\((['\"])(.*)\1\)", re.DOTALL)
_UNKNOWN = ("", "")
_QUOTED = re.compile(r"(['\"])(.*)\1", re.DOTALL)


class JobWords:
    """Descriptions of jobs by id. A thread loads each once: Flower's event loop must not wait for a database."""

    def __init__(self, deployment: Deployment):
        self._deployment = deployment
        self._descriptions: dict[str, tuple[str, str]] = {}
        self._pending: dict[str, Future[None]] = {}
        self._lock = threading.Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="job words")

    def find(self, job: str) -> tuple[str, str]:
        """Return (description, id and size) of the job; both are '' if the job is missing or not loaded."""
        with self._lock:
            if (description := self._descriptions.get(job)) is not None:
                return description
            is_first = not self._pending
            if not (future := self._pending.get(job)):
                if len(self._pending) >= MAX_KNOWN:
                    return _UNKNOWN
                future = self._pending[job] = self._thread.submit(self._look, job)
        if is_first:  # otherwise the database is slow, and each row of a page would wait
            try:
                future.result(WAIT_SECONDS)
            except FutureTimeout:
                return _UNKNOWN
        return self._descriptions.get(job, _UNKNOWN)

    def _look(self, job: str) -> None:
        try:
            with self._deployment.database.engine.connect() as connection:
                row = find_job(connection, job)
            if row is not None:
                items = plural(row.items, "item")
                with self._lock:
                    if len(self._descriptions) >= MAX_KNOWN:
                        self._descriptions.clear()
                    self._descriptions[job] = describe_job(row), f"job {row.id}, {items}"
        except Exception:  # whatever the error, the page shows the id
            pass
        finally:
            with self._lock:
                self._pending.pop(job, None)


class FlowerTask(Protocol):
    """The texts of a task that Flower shows."""

    args: str | None
    kwargs: str | None
    result: str | None
    exception: str | None
    job: str  #: set here: the id of its job, for the link to the explorer


class TaskFormat:
    """Flower's `format_task`."""

    def __init__(self, words: JobWords):
        self._words = words

    def __call__(self, task: FlowerTask) -> FlowerTask:
        description, label = "", ""
        if match := _ARGUMENTS.fullmatch(task.args or ""):
            task.job = match[1]
            description, label = self._words.find(match[1])
            task.args = f"{description}; {label}" if description else match[1]
        else:
            task.args = shorten(task.args or "", MAX_SHOWN)
        task.kwargs = "" if task.kwargs == "{}" else shorten(task.kwargs or "", MAX_SHOWN)
        if output := task.exception or task.result:
            quotation = _FAILED.fullmatch(output) or _QUOTED.fullmatch(output)
            text = quotation[2].replace("\\'", "'").replace('\\"', '"') if quotation else output
            # The job's description is in the column beside it.
            task.result = shorten(text.removeprefix(f"{description}: "), MAX_SHOWN)
        if task.exception:
            task.exception = task.result
        return task
