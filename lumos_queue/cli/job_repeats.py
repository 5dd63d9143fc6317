"""Commands that repeat a stored request: rerun, extend."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output
from lumos_queue.cli.request_command import takes_changes
from lumos_queue.cli.submit_command import takes_submit_options
from lumos_queue.submission.requests.inference import InferenceRequest
from lumos_queue.submission.requests.option import Entrance
from lumos_queue.submission.submit_options import SubmitOptions

if TYPE_CHECKING:
    from collections.abc import Callable

    from lumos_queue.deployment.deployment import Deployment
    from lumos_queue.submission.rerun import Repeat


@takes_changes(InferenceRequest, Entrance.RERUN)
@takes_submit_options
def rerun(
    request: InferenceRequest,
    names: frozenset[str],
    job: opt.JobId,
    where: Annotated[
        str,
        typer.Option(
            metavar="FILTER",
            help="Only tasks with a matching episode in JOB, e.g. score=0 (docs/queries.md), with all their samples.",
        ),
    ] = "",
    *,
    options: SubmitOptions,
    follow: bool,
    json: opt.Json = False,
) -> None:
    """Run a job's request again, with changes.

    JOB is an evaluation or an inference. Its rows are in the database, so no file is needed. Options that you leave out
    keep their values in JOB.
    """
    from lumos_queue.cli.deployment import open_deployment
    from lumos_queue.submission.request_options import unescape_stops
    from lumos_queue.submission.rerun import make_rerun

    changes = replace(request, stop=unescape_stops(request.stop))
    deployment = open_deployment()

    def make(row: Any) -> Repeat:
        return make_rerun(deployment, row, changes, names, where, options.scheduling, output.say)

    options = replace(options, again=options.again or not (names or where))
    store_and_run(deployment, job, make, options, follow)


@takes_changes(InferenceRequest, Entrance.EXTEND)
@takes_submit_options
def extend(
    request: InferenceRequest,
    names: frozenset[str],
    job: opt.JobId,
    *,
    options: SubmitOptions,
    follow: bool,
    json: opt.Json = False,
) -> None:
    """Run more or fewer rows or samples of a job.

    The new job adopts the finished episodes of JOB, and makes none of their calls again. `lumos evaluate` with the same
    --limit and --samples would submit the same job.
    """
    from lumos_queue.cli.deployment import open_deployment
    from lumos_queue.submission.extend import make_extension

    deployment = open_deployment()

    def make(row: Any) -> Repeat:
        return make_extension(deployment, row, request, names, options.scheduling, output.say)

    store_and_run(deployment, job, make, options, follow)


def store_and_run(
    deployment: Deployment,
    job: str,
    make: Callable[[Any], Repeat],
    options: SubmitOptions,
    follow: bool,
) -> None:
    """Store the job that `make` returns for the row of `job`, run or queue it, and print its report or its id."""
    from db.queries.jobs import get_job
    from lumos_queue.cli.run import run_or_follow
    from lumos_queue.cli.submit import finish

    follow = follow or not deployment.broker
    with deployment.database.engine.connect() as connection:
        row = get_job(connection, job)
    repeat = make(row).with_name_and_tags(options.name_and_tags)
    identifier, new = repeat.create(deployment.database, options.again)
    with deployment.database.engine.connect() as connection:
        row = get_job(connection, identifier)
    if new and repeat.message:
        output.say(repeat.message)
    finish(deployment, identifier, run_or_follow(deployment, row, new, options.name_and_tags, follow), follow)
