"""`lumos watch`: the progress of jobs on the whole screen, or in plain lines where there is no terminal."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from db.kinds.states import OPEN, JobState
from lumos_queue.cli import options as opt
from lumos_queue.cli import output
from lumos_queue.cli.exit_codes import Exit

if TYPE_CHECKING:
    from db.engine.connection import Database
    from lumos_queue.live.watched_jobs import WatchedJobs

REFRESHES = 2  #: of the screen per second
MIN_PAUSE, MAX_PAUSE = 0.5, 4.0  #: seconds between two reads of the database


def watch(
    jobs: Annotated[
        list[str] | None, typer.Argument(metavar="[JOB]...", help="Jobs to watch. Default: all that are open.")
    ] = None,
    where: opt.JobWhere = "",
    json: opt.Json = False,
) -> None:
    """Watch jobs until they have ended.

    Shows progress, time left, score so far, calls in flight, reasons for waits, and errors. Ctrl-C does not stop jobs.
    """
    from db.engine.lease import Lease
    from db.queries.open_jobs import list_open_ids
    from lumos_queue.cli.watch_result import print_results, result_of
    from lumos_queue.deployment.database import database
    from lumos_queue.live.watched_jobs import WatchedJobs
    from lumos_queue.settings import read_settings
    from lumos_queue.submission.job_selection import choose_jobs

    settings = read_settings()
    with database(settings) as job_database:
        job_ids = choose_jobs(job_database, Lease(settings.lease_seconds), jobs or (), where)
        with job_database.engine.connect() as connection:
            if not job_ids and not list_open_ids(connection):
                output.result({"jobs": []}, lambda _: output.show("No job is open. List them with: lumos jobs"))
                return
        watched_jobs = WatchedJobs(settings, job_ids)
        is_interrupted = _watch(job_database, watched_jobs)
    results = [result_of(job) for job in watched_jobs.jobs]
    report: dict[str, Any] = {"jobs": results, "ended": watched_jobs.ended}
    output.result(report, lambda _: print_results(watched_jobs.jobs))
    if is_interrupted:
        output.say(_farewell(watched_jobs))
        raise typer.Exit(Exit.INTERRUPTED)
    raise typer.Exit(
        Exit.INCOMPLETE if any("go_on" in summary or summary["state"] == JobState.REMOVED for summary in results) else 0
    )


def _watch(database: Database, watched_jobs: WatchedJobs) -> bool:
    """Show the jobs until all have ended. Return whether a person interrupted this."""
    console = output.console()
    try:
        with _term_as_interrupt():
            if console.is_terminal and not console.is_dumb_terminal and not output.as_json:
                from rich.live import Live

                from lumos_queue.cli.watch_screen import Screen

                with Live(Screen(watched_jobs), console=console, screen=True, refresh_per_second=REFRESHES):
                    _poll(database, watched_jobs)
            else:
                _poll(database, watched_jobs, _Lines(watched_jobs))
    except KeyboardInterrupt:
        return not watched_jobs.ended
    return False


def _poll(database: Database, watched_jobs: WatchedJobs, lines: _Lines | None = None) -> None:
    from lumos_queue.cli.outage import format_silence
    from lumos_queue.errors import DatabaseFailure

    while not watched_jobs.ended:
        start_time = time.monotonic()
        try:
            with database.engine.connect() as connection:
                watched_jobs.read(connection)
        except DatabaseFailure as error:  # the database may come back
            watched_jobs.silence = format_silence(error)
        if lines:
            lines.print()
        # These reads must cost the database little, however many jobs there are.
        pause = min(max(MIN_PAUSE, 20 * (time.monotonic() - start_time)), MAX_PAUSE)
        if not watched_jobs.ended:
            time.sleep(MAX_PAUSE if watched_jobs.silence else pause)


class _Lines:
    """Prints a line for each job every few seconds (not with --json), and lines about outages of the database."""

    def __init__(self, watched_jobs: WatchedJobs):
        from lumos_queue.cli.outage import Outage

        self._watched_jobs, self._last_print = watched_jobs, float("-inf")
        self._silence = Outage(output.say)
        self._last: dict[str, str] = {}

    def print(self) -> None:
        from lumos_queue.cli.live import LINE_SECONDS
        from lumos_queue.cli.watch_result import format_watched

        self._silence.update(self._watched_jobs.silence, not self._watched_jobs.silence)
        if (
            output.as_json
            or self._watched_jobs.silence
            or self._watched_jobs.ended
            or time.monotonic() - self._last_print < LINE_SECONDS
        ):
            return
        self._last_print = time.monotonic()
        for job in self._watched_jobs.jobs:
            if (line := format_watched(job)) != self._last.get(job.id) or job.state in OPEN:
                self._last[job.id] = line
                output.show(line)


@contextmanager
def _term_as_interrupt() -> Iterator[None]:
    """Treat TERM as Ctrl-C, so that the terminal is restored."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    former_handler = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former_handler)


def _farewell(watched_jobs: WatchedJobs) -> str:
    from lumos_queue.live.watched_jobs import ENDED

    unfinished_jobs = [job for job in watched_jobs.jobs if job.state not in ENDED]
    names = " ".join(job.id for job in unfinished_jobs[:5])
    if watched_jobs.read_at is not None and not watched_jobs.workers:
        return f"the jobs are as they were: no worker is alive. Watch them again with: lumos watch {names}"
    return f"the jobs continue; watch them again with: lumos watch {names}"
