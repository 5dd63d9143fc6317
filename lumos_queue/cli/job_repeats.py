"""Commands that repeat a stored request: rerun, extend."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output
from lumos_queue.cli.request_command import takes_changes
from lumos_queue.jobs.scheduling import Scheduling
from lumos_queue.submission.requests.inference import InferenceRequest
from lumos_queue.submission.requests.option import Entrance

if TYPE_CHECKING:
    from collections.abc import Callable

    from db.queue.tags import NameAndTags
    from lumos_queue.deployment.deployment import Deployment
    from lumos_queue.submission.rerun import Repeat


@takes_changes(InferenceRequest, Entrance.RERUN)
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
    name: opt.Name = "",
    tag: opt.Tags = [],
    again: opt.Again = False,
    follow: opt.Follow = False,
    priority: opt.Priority = 0,
    concurrency: opt.Concurrency = 0,
    json: opt.Json = False,
) -> None:
    """Run a job's request again, with changes.

    JOB is an evaluation or an inference. Its rows are in the database, so no file is needed. Options that you leave out
    keep their values in JOB.
    """
    from lumos_queue.cli.deployment import open_deployment
    from lumos_queue.submission.request_options import unescape_stops
    from lumos_queue.submission.rerun import make_rerun
    from lumos_queue.submission.tags import read_name_and_tags

    changes = replace(request, stop=unescape_stops(request.stop))
    deployment, name_and_tags = open_deployment(), read_name_and_tags(name, tag)
    scheduling = Scheduling(priority, concurrency)

    def make(row: Any) -> Repeat:
        return make_rerun(deployment, row, changes, names, where, scheduling, output.say)

    store_and_run(deployment, job, make, name_and_tags, again or not (names or where), follow)


@takes_changes(InferenceRequest, Entrance.EXTEND)
def extend(
    request: InferenceRequest,
    names: frozenset[str],
    job: opt.JobId,
    *,
    name: opt.Name = "",
    tag: opt.Tags = [],
    again: opt.Again = False,
    follow: opt.Follow = False,
    priority: opt.Priority = 0,
    concurrency: opt.Concurrency = 0,
    json: opt.Json = False,
) -> None:
    """Run more or fewer rows or samples of a job.

    The new job adopts the finished episodes of JOB, and makes none of their calls again. `lumos evaluate` with the same
    --limit and --samples would submit the same job.
    """
    from lumos_queue.cli.deployment import open_deployment
    from lumos_queue.submission.extend import make_extension
    from lumos_queue.submission.tags import read_name_and_tags

    deployment, name_and_tags = open_deployment(), read_name_and_tags(name, tag)
    scheduling = Scheduling(priority, concurrency)

    def make(row: Any) -> Repeat:
        return make_extension(deployment, row, request, names, scheduling, output.say)

    store_and_run(deployment, job, make, name_and_tags, again, follow)


def store_and_run(
    deployment: Deployment,
    job: str,
    make: Callable[[Any], Repeat],
    name_and_tags: NameAndTags,
    again: bool,
    follow: bool,
) -> None:
    """Store the job that `make` returns for the row of `job`, run or queue it, and print its report or its id."""
    from db.queries.jobs import get_job
    from lumos_queue.cli.run import run_or_follow
    from lumos_queue.cli.submit import finish

    follow = follow or not deployment.broker
    with deployment.database.engine.connect() as connection:
        row = get_job(connection, job)
    repeat = make(row).with_name_and_tags(name_and_tags)
    identifier, new = repeat.create(deployment.database, again)
    with deployment.database.engine.connect() as connection:
        row = get_job(connection, identifier)
    if new and repeat.message:
        output.say(repeat.message)
    finish(deployment, identifier, run_or_follow(deployment, row, new, name_and_tags, follow), follow)
