"""Commands that change a job's state: pause, resume, cancel, rm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from db.kinds.states import OPEN, JobState
from lumos_queue.cli import options as opt
from lumos_queue.cli import output
from lumos_queue.cli.deployment import open_deployment
from lumos_queue.cli.submit import finish
from lumos_queue.util.wording import plural

if TYPE_CHECKING:
    from lumos_queue.deployment.deployment import Deployment


def _change(deployment: Deployment, job: str, change: str) -> Any:
    """Call the function of db.queue.job_changes named `change`. Return the job's new row."""
    import db.queries.jobs
    import db.queue.job_changes

    job_database = deployment.database
    with job_database.engine.connect() as connection:
        row = db.queries.jobs.get_job(connection, job, allow_damaged=True)
    getattr(db.queue.job_changes, change)(job_database, row.id)
    with job_database.engine.connect() as connection:
        return db.queries.jobs.get_job(connection, row.id, allow_damaged=True)


def _requeue(deployment: Deployment, job: str, only: str) -> Any:
    """Retry the items that ended with failures of the class `only`. Return the job's new row."""
    from db.kinds.failure_classes import FailureClass
    from db.queries.jobs import get_job
    from db.transfer.requeue import requeue
    from lumos_queue.errors import unknown

    if only not in tuple(FailureClass):
        raise unknown("class of failures", only[:80], FailureClass)
    job_database = deployment.database
    with job_database.engine.connect() as connection:
        row = get_job(connection, job)
    count = requeue(job_database, row.id, FailureClass(only))
    output.say(f"{plural(count, 'item')} of job {row.id} {'are' if count > 1 else 'is'} pending again")
    with job_database.engine.connect() as connection:
        return get_job(connection, row.id)


def _prepare_resume(deployment: Deployment, job: str, accept_plugin: bool) -> list[dict[str, str]]:
    """Return the installed plug-ins that a job will use from now on; [] without `accept_plugin`.

    Raises SpecError if the job cannot continue on this machine.
    """
    from db.queries.jobs import get_job
    from lumos_queue.jobs.plugins import plugins_as_json, plugins_of
    from lumos_queue.submission.resume import check_resume

    with deployment.database.engine.connect() as connection:
        row = get_job(connection, job)
        if accept_plugin:
            return plugins_as_json(plugins_of(row))
        check_resume(connection, deployment.settings, row)
        return []


def _accept_plugins(deployment: Deployment, job: str, plugins: list[dict[str, str]]) -> Any:
    """Record these plug-ins as those that an unfinished job needs. Return the job's new row."""
    from db.queries.jobs import get_job
    from db.queue.plugins import accept_plugins

    job_database = deployment.database
    names = ", ".join(dict.fromkeys(accept_plugins(job_database, job, plugins, deployment.settings.user)))
    output.say(f"job {job} {f'continues with other code: {names}' if names else 'has the plug-ins that are here'}")
    with job_database.engine.connect() as connection:
        return get_job(connection, job)


def cancel(job: opt.JobId, json: opt.Json = False) -> None:
    """Stop a job for good.

    Its stored episodes are kept.
    """
    from db.queries.jobs import find_job

    deployment = open_deployment()
    row = _change(deployment, job, "cancel")
    with deployment.database.engine.connect() as connection:
        awaited_job = find_job(connection, row.awaits) if row.awaits else None
    if awaited_job and awaited_job.state in OPEN:
        output.say(
            f"job {awaited_job.id}, which it waited for, is still {awaited_job.state}. "
            f"To stop it: lumos cancel {awaited_job.id}"
        )
    output.result(
        {"job": row.id, "state": row.state}, lambda value: output.show(f"job {value['job']} is {value['state']}")
    )


def pause(job: opt.JobId, json: opt.Json = False) -> None:
    """Stop a job for a while.

    Items in flight keep their recorded steps. Continue with: lumos resume JOB
    """
    row = _change(open_deployment(), job, "pause")
    output.result(
        {"job": row.id, "state": row.state}, lambda value: output.show(f"job {value['job']} is {value['state']}")
    )


def resume(
    job: opt.JobId,
    only: Annotated[
        str,
        typer.Option(
            metavar="CLASS",
            help="Only run the items again that ended with a failure of this class: refused, failed, unfit, script, "
            "image, database, fault, died or other (docs/again.md). The report counts them.",
        ),
    ] = "",
    accept_plugin: Annotated[
        bool,
        typer.Option(
            "--accept-plugin",
            help="Continue with the plug-ins that are installed here, although their code is not the one of the "
            "submission. Recorded steps that do not fit the new code are run again.",
        ),
    ] = False,
    follow: opt.Follow = False,
    json: opt.Json = False,
) -> None:
    """Continue a job that stopped.

    JOB was paused or cancelled, lost its workers, or ended incomplete. Quarantined items, and episodes that ended with
    infra_error, are run again.
    """
    from lumos_queue.cli.run import run_stored

    deployment = open_deployment()
    plugins = _prepare_resume(deployment, job, accept_plugin)
    row = _requeue(deployment, job, only) if only else _change(deployment, job, "resume")
    if row.state == JobState.DONE:
        output.say(f"job {row.id} is done: no item is left to run")
        finish(deployment, row.id, 0, True)
    elif accept_plugin:  # a job that is done keeps the code that ran its episodes
        row = _accept_plugins(deployment, row.id, plugins)
    follow = follow or not deployment.broker
    finish(deployment, row.id, run_stored(deployment, row, follow), follow)


def rm(
    job: Annotated[str, typer.Argument(metavar="JOB", help="The job's whole id.")],
    with_labels: Annotated[
        bool,
        typer.Option(
            "--with-labels", help="Delete it also if people have labelled, sampled or corrected its episodes."
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    json: opt.Json = False,
) -> None:
    """Delete a job and everything it stored.

    Describes the job and asks before it deletes. The job must not be running. Jobs with people's labels, audits or
    corrections need --with-labels.
    """
    from db.queue.job_changes import check_removable, remove
    from lumos_queue.cli.removal import describe_removal, find_whole, is_agreed
    from lumos_queue.deployment.database import database
    from lumos_queue.settings import read_settings

    with database(read_settings()) as job_database:
        with job_database.engine.connect() as connection:
            row = find_whole(connection, job)
            check_removable(connection, row.state, row.id, with_labels)
            summary = describe_removal(connection, row)
        if not yes and not is_agreed(summary, row.id, with_labels):
            output.result({"job": row.id, "removed": False}, lambda value: output.show(f"job {value['job']} was kept"))
            return
        remove(job_database, row.id, with_labels)
    output.result({"job": row.id, "removed": True}, lambda _: output.show(f"removed {summary}"))
