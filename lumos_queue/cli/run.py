"""Submit a job and wait for it. Without a broker, the job runs in this process; else notified workers run it."""

from __future__ import annotations

import os
import signal
import threading
from shlex import quote
from typing import Any

from db.kinds.name_and_tags import NameAndTags
from db.queries.jobs import get_job
from db.queue.figures import count_endings, progress
from db.queue.tags import tags_of
from lumos_queue.api.start import STOPPED, store_job
from lumos_queue.cli import output
from lumos_queue.cli.exit_codes import Exit
from lumos_queue.cli.live import Progress
from lumos_queue.cli.plan_prompt import ask_for_approval, may_ask, print_how_to_approve
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.jobs.base import Job
from lumos_queue.jobs.plugins import check_plugins
from lumos_queue.reports.completeness import completeness, remark
from lumos_queue.submission.store import Rows
from lumos_queue.submission.submit_options import SubmitOptions
from lumos_queue.util.plugins import TRUSTED
from workers.embedded_run import EmbeddedRun
from workers.watchdog import Watchdog

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def submit_and_run(
    deployment: Deployment,
    job: Job,
    rows: Rows | None,
    options: SubmitOptions,
    *,
    windows: int = 0,
    follow: bool,
    report_existing: bool = True,
) -> tuple[str, int]:
    """Store the job and run or follow it. Return its id and the exit code. Remarks go to standard error."""
    row, new = store_job(deployment, job, rows, options, output.say, windows)
    return row.id, run_or_follow(deployment, row, new or not report_existing, options.name_and_tags, follow)


def run_or_follow(deployment: Deployment, row: Any, new: bool, name_and_tags: NameAndTags, follow: bool) -> int:
    """Run or follow the job of `row`, unless it has stopped. Return the exit code. `new`: it was just stored."""
    if not new:
        output.say(f"job {row.id} is the same request and is {row.state}: it is shown instead (--again runs a new job)")
        if text := _keeps_name(deployment, row, name_and_tags):
            output.say(text)
    if row.state in STOPPED:
        return check_completeness(deployment, row.id, silent=follow)
    return run_stored(deployment, row, follow)


def _keeps_name(deployment: Deployment, row: Any, name_and_tags: NameAndTags) -> str:
    """Return a remark if the name or tags of an existing job differ from those of this request; else ''."""
    with deployment.database.engine.connect() as connection:
        tags = tags_of(connection, [row.id]).get(row.id, {})
    changes = [f"--name {quote(name_and_tags.name)}"] if name_and_tags.name and name_and_tags.name != row.name else []
    changes += [quote(f"{key}={value}") for key, value in name_and_tags.tags.items() if tags.get(key) != value]
    if not changes:
        return ""
    return f"job {row.id} keeps its name and tags. To change them: lumos tag {row.id} {' '.join(changes)}"


def check_completeness(deployment: Deployment, job: str, silent: bool = False) -> Exit:
    """Return the exit code of a stopped job. Print how to continue it, unless `silent` because a report follows."""
    with deployment.database.engine.connect() as connection:
        row = get_job(connection, job)
        state = completeness(row, progress(connection, job), count_endings(connection, job))
    if (text := remark(state)) and not silent:
        output.say(f"job {job} is {text}")
    return Exit.INCOMPLETE if text else Exit.FINE


def run_stored(deployment: Deployment, row: Any, follow: bool) -> Exit:
    """Run the job of `row` in this process, or notify the workers if there is a broker. Return the exit code."""
    job = row.id
    if not deployment.broker:
        check_plugins(row)
        return _run_here(deployment, job)
    from workers.notify import notify_workers

    if not notify_workers(deployment.settings, row.kind, job, row.items, row.pool):
        output.say("the broker does not answer: a dispatcher will find the job without it")
    if not follow:
        output.say(f"job {job} is queued. Watch it with: lumos watch {job}   Read it with: lumos report {job}")
        return Exit.FINE
    code = _watch(Progress(deployment.database, deployment.settings, job), threading.Event(), threading.Event())
    return code or check_completeness(deployment, job, silent=True)


def _run_here(deployment: Deployment, job: str) -> Exit:
    """Run the job in a thread of this process, while the main thread shows the progress."""
    run = EmbeddedRun(deployment, job)
    if run.remark:
        output.say(run.remark)
    # The watchdog covers the last display of progress, so that reads of this thread end with the drain, too.
    with Watchdog(run.context, run.stop.is_set):
        try:
            progress_display = Progress(deployment.database, deployment.settings, job, run.context)
            code = _watch(progress_display, run.stop, run.over, run.start().thread)
        finally:
            run.close()
    if run.failure:
        raise run.failure
    return code or check_completeness(deployment, job, silent=True)


def _watch(
    display: Progress, stop: threading.Event, wake: threading.Event, worker: threading.Thread | None = None
) -> Exit:
    """Show progress until the job has ended, or until Ctrl-C or TERM. A second signal ends the process at once.

    `wake` is set when `worker`, the thread that runs the job in this process, has ended.
    """
    stop_request = threading.Event()

    def interrupt(*_: object) -> None:
        # A second signal ends the process. Items in flight are run again when the lease has ended.
        for number in _STOP_SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        stop_request.set()
        stop.set()
        wake.set()

    give_up_reason, needs_answer = "", False
    former_handlers = {number: signal.signal(number, interrupt) for number in _STOP_SIGNALS}
    try:
        with display:
            while not stop_request.is_set():
                if worker and (wake.is_set() or not worker.is_alive()):
                    worker.join()
                    break
                state = display.show()
                if worker is None and state in STOPPED:
                    break
                if give_up_reason := display.given_up:
                    stop.set()
                    break
                if display.awaits:
                    if needs_answer := not may_ask():
                        stop.set()
                        break
                    with display.hide():
                        ask_for_approval(display.database, display.settings, display.job, stop_request)
                    if stop_request.is_set():
                        stop.set()
                wake.wait(display.pause)
            if worker is not None:
                while worker.is_alive():
                    display.show()
                    worker.join(0.2)
            display.show()
    finally:
        for number, handler in former_handlers.items():
            signal.signal(number, handler)
    if give_up_reason and display.state not in STOPPED:
        output.say(output.harmless(give_up_reason))
        output.say(f"nothing is lost. Once this is fixed, continue with: {_resume_command(display.job)}")
        return Exit.INCOMPLETE
    if needs_answer and display.state not in STOPPED:
        print_how_to_approve(display.database, display.settings, display.job)
        return Exit.INCOMPLETE
    if stop_request.is_set() and display.state not in STOPPED:
        output.say(f"stopped; nothing is lost. Continue with: {_resume_command(display.job)}")
        return Exit.INTERRUPTED
    return Exit.FINE


def _resume_command(job: str) -> str:
    """Return the command that resumes the job. It sets LUMOS_PLUGINS to the modules that this command named.

    A name that comes from the database is imported only if LUMOS_PLUGINS lists its module or folder.
    """
    modules = dict.fromkeys(TRUSTED.list_for_setting())
    all_modules = [*filter(None, [os.environ.get("LUMOS_PLUGINS", "")]), *modules]
    return f"LUMOS_PLUGINS={quote(','.join(all_modules))} lumos resume {job}" if modules else f"lumos resume {job}"
