"""`lumos watch`: jobs as they go on, on the whole screen; in plain lines where there is no terminal."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output
from lumos_queue.cli.exit_codes import Exit

if TYPE_CHECKING:
    from db.connection import Database
    from lumos_queue.live.watched_jobs import Watched

REFRESHES = 2  #: of the screen in a second
MIN_PAUSE, MAX_PAUSE = 0.5, 4.0  #: seconds between two looks at the database


def watch(
    jobs: Annotated[
        list[str] | None, typer.Argument(metavar="[JOB]...", help="Jobs to watch. Default: all that are open.")
    ] = None,
    where: opt.JobWhere = "",
    json: opt.Json = False,
) -> None:
    """Watch jobs until they have ended.

    Progress, time left, score so far, calls in flight, what waits and why, errors. Ctrl-C leaves the jobs alone.
    """
    from lumos_queue.cli.job_selection import choose_jobs
    from lumos_queue.cli.watch_result import print_results, result_of
    from lumos_queue.live.watched_jobs import Watched, open_jobs
    from lumos_queue.settings import read_settings
    from lumos_queue.submission.database import database

    settings = read_settings()
    with database(settings) as opened:
        wanted = choose_jobs(opened, settings, jobs or (), where)
        with opened.engine.connect() as connection:
            if not wanted and not open_jobs(connection):
                output.result({"jobs": []}, lambda _: output.show("No job is open. List them with: lumos jobs"))
                return
        watched = Watched(settings, wanted)
        interrupted = _watch(opened, watched)
    results = [result_of(one) for one in watched.jobs]
    found: dict[str, Any] = {"jobs": results, "ended": watched.ended}
    output.result(found, lambda _: print_results(results))
    if interrupted:
        output.say(_farewell(watched))
        raise typer.Exit(Exit.INTERRUPTED)
    raise typer.Exit(Exit.INCOMPLETE if any("go_on" in one or one["state"] == "removed" for one in results) else 0)


def _watch(database: Database, watched: Watched) -> bool:
    """Until all have ended; returns whether it was interrupted before."""
    console = output.console()
    try:
        with _term_as_interrupt():
            if console.is_terminal and not console.is_dumb_terminal and not output.as_json:
                from rich.live import Live

                from lumos_queue.cli.watch_screen import Screen

                with Live(Screen(watched), console=console, screen=True, refresh_per_second=REFRESHES):
                    _read_on(database, watched)
            else:
                _read_on(database, watched, _Lines(watched))
    except KeyboardInterrupt:
        return not watched.ended
    return False


def _read_on(database: Database, watched: Watched, lines: _Lines | None = None) -> None:
    from sqlalchemy.exc import DBAPIError

    from lumos_queue.cli.outage import format_silence

    while not watched.ended:
        started = time.monotonic()
        try:
            with database.engine.connect() as connection:
                watched.read(connection)
        except DBAPIError as error:  # it may come back, and jobs go on meanwhile or then
            watched.silence = format_silence(error)
        if lines:
            lines.print()
        # These looks must cost the database little, however many jobs there are.
        pause = min(max(MIN_PAUSE, 20 * (time.monotonic() - started)), MAX_PAUSE)
        if not watched.ended:
            time.sleep(MAX_PAUSE if watched.silence else pause)


class _Lines:
    """A line for each job every few seconds, unless a program reads the result; outages as they begin and end."""

    def __init__(self, watched: Watched):
        from lumos_queue.cli.outage import Outage

        self._watched, self._at = watched, float("-inf")
        self._silence = Outage(output.say)
        self._last: dict[str, str] = {}

    def print(self) -> None:
        from lumos_queue.cli.live import LINE_SECONDS
        from lumos_queue.cli.watch_result import format_watched

        self._silence.update(self._watched.silence, not self._watched.silence)
        if output.as_json or self._watched.silence or self._watched.ended or time.monotonic() - self._at < LINE_SECONDS:
            return
        self._at = time.monotonic()
        for one in self._watched.jobs:
            if (line := format_watched(one)) != self._last.get(one.id) or one.state in ("queued", "running"):
                self._last[one.id] = line
                output.show(line)


@contextmanager
def _term_as_interrupt() -> Iterator[None]:
    """Leave by TERM as by Ctrl-C, so that the terminal gets its lines back."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _farewell(watched: Watched) -> str:
    from lumos_queue.live.watched_jobs import ENDED

    left = [one for one in watched.jobs if one.state not in ENDED]
    names = " ".join(one.id for one in left[:5])
    if watched.read_at is not None and not watched.workers:
        return f"the jobs are as they were: no worker is alive. Watch them again with: lumos watch {names}"
    return f"jobs go on; watch them again with: lumos watch {names}"
