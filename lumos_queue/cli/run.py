"""Submitting a job and seeing it through: in this process when there is no broker, else by whoever hears the nudge."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from db.connection import Database, open_database
from db.jobs import get_job
from db.migrate import current, require_current, upgrade
from lumos_queue.cli import output
from lumos_queue.cli.live import Progress
from lumos_queue.errors import SpecError
from lumos_queue.jobs.base import Job
from lumos_queue.settings import Settings
from lumos_queue.submission import Rows, submit

POOLS = ("cpu", "llm", "gpu")
ENDED = ("done", "cancelled", "paused")
INTERRUPTED = 130
_ENDS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def database(settings: Settings, create: bool = False) -> Iterator[Database]:
    """The database at this code's revision; with `create`, a new embedded one is made on first use."""
    if not create:
        _require_file(settings)
    opened = open_database(settings.database, settings.lease_seconds)
    try:
        if create and opened.is_sqlite and current(opened) is None:
            upgrade(opened)
        require_current(opened)
        yield opened
    finally:
        opened.close()


def _require_file(settings: Settings) -> None:
    """Looking must not create: an embedded database that is not there is an error."""
    url = settings.database
    if url.startswith("sqlite:///"):
        from pathlib import Path

        path = Path(url.removeprefix("sqlite:///"))
        if not path.exists():
            raise SpecError(
                f"There is no database at '{path}' yet. Submit a job first, or name another with LUMOS_DATABASE_URL."
            )


def submit_and_run(
    settings: Settings, job: Job, rows: Rows | None, *, windows: int = 0, priority: int = 0, again: bool, follow: bool
) -> tuple[str, int]:
    """Store the job and see it through; returns its id and the exit code. Says what a person should know."""
    with database(settings, create=True) as opened:
        identifier, new = submit(opened, settings, job, rows, windows=windows, priority=priority, again=again)
        with opened.engine.connect() as connection:
            row = get_job(connection, identifier)
    if rows and rows.bad:
        output.say(f"skipped {len(rows.bad)} bad rows of {len(rows.bad) + len(rows.tasks)}; the first: {rows.bad[0]}")
    if not new:
        output.say(f"job {identifier} is the same request and is {row.state}: shown instead (--again runs it anew)")
    if row.state in ENDED:
        return identifier, 0
    return identifier, carry_on(settings, row, follow)


def carry_on(settings: Settings, row: Any, follow: bool) -> int:
    """Work on a stored job (its row) here, or nudge those who will; returns the exit code."""
    job = row.id
    if not settings.broker_url:
        return _run_here(settings, job)
    from workers.nudge import nudge

    if not nudge(settings, row.kind, job, row.items, row.pool):
        output.say("the broker does not answer: a dispatcher will find the job")
    if not follow:
        output.say(f"job {job} is queued. Watch it with: lumos job {job}   Read it with: lumos report {job}")
        return 0
    with database(settings) as opened:
        return _watch(Progress(opened, settings, job), threading.Event())


def _run_here(settings: Settings, job: str) -> int:
    """Be the whole deployment: a dispatcher for this one job, in a thread, while the main thread shows how it goes."""
    from workers.dispatcher import Dispatcher
    from workers.process import Process
    from workers.watchdog import Watchdog

    stop = threading.Event()
    failure: list[BaseException] = []
    process = Process(settings)

    def body() -> None:
        try:
            Dispatcher(process, POOLS, only=job).run(stop.is_set)
        except BaseException as error:  # handed over to the main thread
            failure.append(error)

    with Watchdog(process, stop.is_set), database(settings) as opened:
        worker = threading.Thread(target=body, name="dispatcher")
        worker.start()
        try:
            code = _watch(Progress(opened, settings, job, here=True), stop, worker)
        finally:
            stop.set()
            worker.join()
            process.close()
    if failure:
        raise failure[0]
    return code


def _watch(progress: Progress, stop: threading.Event, worker: threading.Thread | None = None) -> int:
    """Show progress until the job has ended or Ctrl-C (or TERM). A second Ctrl-C ends the process at once."""
    asked = threading.Event()

    def interrupt(*_) -> None:
        for number in _ENDS:  # the next one takes effect at once; what is in flight is then owed when the lease ends
            signal.signal(number, signal.SIG_DFL)
        asked.set()
        stop.set()

    before = {number: signal.signal(number, interrupt) for number in _ENDS}
    try:
        with progress:
            while not asked.is_set():
                state = progress.show()
                if (worker is None or not worker.is_alive()) and (state in ENDED or worker is not None):
                    break
                asked.wait(progress.pause)
            if worker is not None:
                while worker.is_alive():
                    progress.show()
                    worker.join(0.2)
            progress.show()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if asked.is_set() and progress.state not in ENDED:
        output.say(f"stopped; nothing is lost. Go on with: lumos resume {progress.job}")
        return INTERRUPTED
    return 0
