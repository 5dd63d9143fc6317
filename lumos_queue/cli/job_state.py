"""Commands that change a job's state: pause, resume, cancel, rm."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from db.states import JobState
from lumos_queue.cli import options as opt
from lumos_queue.cli import output
from lumos_queue.cli.submitting import finish


def _change(job: str, change: str, **options: bool) -> tuple[Any, Any]:
    """Apply one of db.jobs' changes of state; returns settings and the job's row after it."""
    import db.jobs
    from lumos_queue.errors import SpecError
    from lumos_queue.settings import read_settings
    from lumos_queue.submission.database import database

    if not job:  # it would be the beginning of every id
        raise SpecError("An empty text names no job. List them with: lumos jobs")
    settings = read_settings()
    with database(settings) as opened:
        with opened.engine.connect() as connection:
            row = db.jobs.get_job(connection, job)
        getattr(db.jobs, change)(opened, row.id, **options)
        if change == "remove":
            return settings, row
        with opened.engine.connect() as connection:
            return settings, db.jobs.get_job(connection, row.id)


def cancel(job: opt.JobId, json: opt.Json = False) -> None:
    """Stop a job; what is stored stays."""
    _, row = _change(job, "cancel")
    output.result(
        {"job": row.id, "state": row.state}, lambda value: output.show(f"job {value['job']} is {value['state']}")
    )


def pause(job: opt.JobId, json: opt.Json = False) -> None:
    """Stop a job for a while: what is in flight is given back with its steps; go on with resume."""
    _, row = _change(job, "pause")
    output.result(
        {"job": row.id, "state": row.state}, lambda value: output.show(f"job {value['job']} is {value['state']}")
    )


def resume(job: opt.JobId, follow: opt.Follow = False, json: opt.Json = False) -> None:
    """Go on with a job that was paused or cancelled, lost its workers or ended incomplete.

    Quarantined items and episodes that infrastructure ended (infra_error) are tried again.
    """
    from lumos_queue.cli.run import carry_on

    settings, row = _change(job, "resume")
    if row.state == JobState.DONE:
        output.say(f"job {row.id} is done: nothing of it is owed")
        finish(settings, row.id, 0, True)
    follow = follow or not settings.broker_url
    finish(settings, row.id, carry_on(settings, row, follow), follow)


def rm(
    job: opt.JobId,
    with_labels: Annotated[
        bool, typer.Option("--with-labels", help="Even if people labelled, drew or corrected its episodes.")
    ] = False,
    json: opt.Json = False,
) -> None:
    """Delete a job that is not running, with all it stored; not the work of people unless told so."""
    _, row = _change(job, "remove", with_labels=with_labels)
    output.result({"job": row.id, "removed": True}, lambda value: output.show(f"job {value['job']} is removed"))
