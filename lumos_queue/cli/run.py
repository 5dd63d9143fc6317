"""Submit a job and wait for it: run in this process if there is no broker, else by workers that are notified."""

from __future__ import annotations

import os
import signal
import threading
from shlex import quote
from typing import Any

from db.figures import count_endings, progress
from db.jobs import get_job
from db.tags import UNNAMED, NameAndTags, tags_of
from lumos_queue.api.start import STOPPED, store_job
from lumos_queue.cli import output
from lumos_queue.cli.exit_codes import Exit
from lumos_queue.cli.live import Progress
from lumos_queue.cli.plan_prompt import ask_for_approval, may_ask, tell_how_to_approve
from lumos_queue.jobs.base import Job
from lumos_queue.jobs.plugins import check_plugins
from lumos_queue.jobs.scheduling import DEFAULT_SCHEDULING, Scheduling
from lumos_queue.reports.completeness import completeness, remark
from lumos_queue.settings import Settings
from lumos_queue.submission.database import database
from lumos_queue.submission.store import Rows
from lumos_queue.util.plugins import TRUSTED
from workers.embedded_run import EmbeddedRun
from workers.watchdog import Watchdog

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def submit_and_run(
    settings: Settings,
    job: Job,
    rows: Rows | None,
    *,
    named: NameAndTags | None = None,
    windows: int = 0,
    scheduling: Scheduling = DEFAULT_SCHEDULING,
    again: bool,
    follow: bool,
    tell_known: bool = True,
) -> tuple[str, int]:
    """Store the job and run or follow it; returns its id and the exit code. Remarks go to standard error."""
    row, new = store_job(
        settings, job, rows, output.say, named=named, windows=windows, scheduling=scheduling, again=again
    )
    return row.id, go_on(settings, row, new or not tell_known, named or UNNAMED, follow)


def go_on(settings: Settings, row: Any, new: bool, named: NameAndTags, follow: bool) -> int:
    """Run or follow a job that was asked for (its row) unless it has stopped; returns the exit code."""
    if not new:
        output.say(f"job {row.id} is the same request and is {row.state}: it is shown instead (--again runs a new job)")
        if text := _keeps_name(settings, row, named):
            output.say(text)
    if row.state in STOPPED:
        return check_completeness(settings, row.id, silent=follow)
    return run_stored(settings, row, follow)


def _keeps_name(settings: Settings, row: Any, named: NameAndTags) -> str:
    """One line where a job that was stored before has another name or other tags than were given now; else empty."""
    with database(settings) as opened, opened.engine.connect() as connection:
        tags = tags_of(connection, [row.id]).get(row.id, {})
    asked = [f"--name {quote(named.name)}"] if named.name and named.name != row.name else []
    asked += [quote(f"{key}={value}") for key, value in named.tags.items() if tags.get(key) != value]
    if not asked:
        return ""
    return f"job {row.id} keeps its name and tags. To change them: lumos tag {row.id} {' '.join(asked)}"


def check_completeness(settings: Settings, job: str, silent: bool = False) -> Exit:
    """The exit code of a job that has stopped; prints how to go on, unless `silent` as a report says it."""
    with database(settings) as opened, opened.engine.connect() as connection:
        row = get_job(connection, job)
        found = completeness(row, progress(connection, job), count_endings(connection, job))
    if (text := remark(found)) and not silent:
        output.say(f"job {job} is {text}")
    return Exit.INCOMPLETE if text else Exit.FINE


def run_stored(settings: Settings, row: Any, follow: bool) -> Exit:
    """Run a stored job (its row) here, or notify the workers; returns the exit code."""
    job = row.id
    if not settings.broker_url:
        check_plugins(row)
        return _run_here(settings, job)
    from workers.notify import notify_workers

    if not notify_workers(settings, row.kind, job, row.items, row.pool):
        output.say("the broker does not answer: a dispatcher will find the job without it")
    if not follow:
        output.say(f"job {job} is queued. Watch it with: lumos watch {job}   Read it with: lumos report {job}")
        return Exit.FINE
    with database(settings) as opened:
        code = _watch(Progress(opened, settings, job), threading.Event(), threading.Event())
    return code or check_completeness(settings, job, silent=True)


def _run_here(settings: Settings, job: str) -> Exit:
    """Run the job in a thread of this process, while the main thread shows the progress."""
    run = EmbeddedRun(settings, job)
    if run.remark:
        output.say(run.remark)
    # Until the progress was shown for the last time: what this thread reads must not outlive the drain either.
    with Watchdog(run.context, run.stop.is_set), database(settings) as opened:
        try:
            code = _watch(Progress(opened, settings, job, run.context), run.stop, run.over, run.start().thread)
        finally:
            run.close()
    if run.failure:
        raise run.failure
    return code or check_completeness(settings, job, silent=True)


def _watch(
    shown: Progress, stop: threading.Event, wake: threading.Event, worker: threading.Thread | None = None
) -> Exit:
    """Show progress until the job has ended or Ctrl-C (or TERM). A second Ctrl-C ends the process at once.

    `wake` is set when `worker`, which works on the job in this process, is over.
    """
    asked = threading.Event()

    def interrupt(*_: object) -> None:
        for (
            number
        ) in _STOP_SIGNALS:  # a second signal ends the process; items in flight are run again once the lease ends
            signal.signal(number, signal.SIG_DFL)
        asked.set()
        stop.set()
        wake.set()

    given_up, unasked = "", False
    before = {number: signal.signal(number, interrupt) for number in _STOP_SIGNALS}
    try:
        with shown:
            while not asked.is_set():
                if worker and (wake.is_set() or not worker.is_alive()):
                    worker.join()
                    break
                state = shown.show()
                if worker is None and state in STOPPED:
                    break
                if given_up := shown.given_up:
                    stop.set()
                    break
                if shown.awaits:
                    if unasked := not may_ask():
                        stop.set()
                        break
                    with shown.hide():
                        ask_for_approval(shown.database, shown.settings, shown.job, asked)
                    if asked.is_set():
                        stop.set()
                wake.wait(shown.pause)
            if worker is not None:
                while worker.is_alive():
                    shown.show()
                    worker.join(0.2)
            shown.show()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if given_up and shown.state not in STOPPED:
        output.say(output.harmless(given_up))
        output.say(f"nothing is lost. Once this is fixed, go on with: {_resume_command(shown.job)}")
        return Exit.INCOMPLETE
    if unasked and shown.state not in STOPPED:
        tell_how_to_approve(shown.database, shown.settings, shown.job)
        return Exit.INCOMPLETE
    if asked.is_set() and shown.state not in STOPPED:
        output.say(f"stopped; nothing is lost. Go on with: {_resume_command(shown.job)}")
        return Exit.INTERRUPTED
    return Exit.FINE


def _resume_command(job: str) -> str:
    """With the folders of modules that were named here: a name from the database is imported only if it is listed."""
    given = dict.fromkeys(TRUSTED.given_as_setting())
    listed = [*filter(None, [os.environ.get("LUMOS_PLUGINS", "")]), *given]
    return f"LUMOS_PLUGINS={quote(','.join(listed))} lumos resume {job}" if given else f"lumos resume {job}"
