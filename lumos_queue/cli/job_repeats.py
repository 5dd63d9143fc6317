"""Commands that repeat a stored request: rerun, extend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output
from lumos_queue.jobs.scheduling import Scheduling

if TYPE_CHECKING:
    from db.tags import NameAndTags
    from lumos_queue.settings import Settings
    from lumos_queue.submission.rerun import Repeat

_SEED = Annotated[int | None, typer.Option(min=0, max=opt.MAX_INTEGER, help="Another seed of all sampling.")]
_TEMPERATURE = Annotated[float | None, typer.Option(min=0.0, help="Another sampling temperature; 0: greedy.")]
_TOP_P = Annotated[float | None, typer.Option(min=0.0, max=1.0, help="Another nucleus; 1: off.")]
_MAX_TOKENS = Annotated[int | None, typer.Option(min=1, max=opt.MAX_INTEGER, help="Another limit of a reply's tokens.")]
_LIMIT = Annotated[
    int | None, typer.Option(min=0, max=opt.MAX_INTEGER, help="The first so many rows; 0: all. Default: as in JOB.")
]
_SAMPLES = Annotated[int | None, typer.Option(min=1, max=1000, help="Episodes per task. Default: as in JOB.")]


def rerun(
    job: opt.JobId,
    where: Annotated[
        str,
        typer.Option(
            metavar="FILTER",
            help="Only tasks with a matching episode in JOB, e.g. score=0 (docs/queries.md), with all their samples.",
        ),
    ] = "",
    formulation: Annotated[str, typer.Option(help="Another formulation.")] = "",
    agent: opt.AgentName = "",
    planner: opt.Planner = "",
    grounder: opt.Grounder = "",
    solver: opt.Solver = "",
    role: opt.Roles = [],
    tool: opt.ToolOptions = [],
    setting: opt.SettingOptions = [],
    sampling: opt.Samplings = [],
    stop: opt.Stop = [],
    system: opt.System = None,
    prompt: opt.Prompt = None,
    request: opt.Requests = [],
    reader: opt.Reader = "",
    seed: _SEED = None,
    temperature: _TEMPERATURE = None,
    top_p: _TOP_P = None,
    max_tokens: _MAX_TOKENS = None,
    limit: _LIMIT = None,
    samples: _SAMPLES = None,
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
    from lumos_queue.settings import read_settings
    from lumos_queue.submission.request_options import read_system, read_template, unescape_stops
    from lumos_queue.submission.rerun import make_rerun
    from lumos_queue.submission.stored_request import Changes
    from lumos_queue.submission.tags import read_name_and_tags

    numbers = {
        "seed": seed,
        "temperature": temperature,
        "top_p": top_p,
        "max_tokens": max_tokens,
        "limit": limit,
        "samples": samples,
        "reader": reader or None,
    }
    roles = {"planner": planner, "grounder": grounder, "solver": solver}
    changes = Changes(
        formulation=formulation,
        agent=agent,
        roles={role_name: url for role_name, url in roles.items() if url},
        role_urls=role,
        tools=tool,
        settings=setting,
        samplings=sampling,
        numbers={field: value for field, value in numbers.items() if value is not None},
        stop=unescape_stops(stop),
        system=read_system(system),
        prompt=read_template(prompt),
        requests=request,
    )
    settings, name_and_tags = read_settings(), read_name_and_tags(name, tag)
    again = again or not (changes or where)

    def make(database: Any, row: Any) -> Repeat:
        return make_rerun(database, settings, row, changes, where, Scheduling(priority, concurrency), output.say)

    store_and_run(settings, job, make, name_and_tags, again, follow)


def extend(
    job: opt.JobId,
    limit: _LIMIT = None,
    samples: _SAMPLES = None,
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
    from lumos_queue.settings import read_settings
    from lumos_queue.submission.extend import make_extension
    from lumos_queue.submission.tags import read_name_and_tags

    settings, name_and_tags = read_settings(), read_name_and_tags(name, tag)

    def make(database: Any, row: Any) -> Repeat:
        return make_extension(database, settings, row, limit, samples, Scheduling(priority, concurrency), output.say)

    store_and_run(settings, job, make, name_and_tags, again, follow)


def store_and_run(
    settings: Settings, job: str, make: Any, name_and_tags: NameAndTags, again: bool, follow: bool
) -> None:
    """Store the job that `make` returns for the row of `job`, run or queue it, and print its report or its id."""
    from db.jobs import get_job
    from lumos_queue.cli.run import run_or_follow
    from lumos_queue.cli.submit import finish
    from lumos_queue.submission.database import database

    follow = follow or not settings.broker_url
    with database(settings) as job_database:
        with job_database.engine.connect() as connection:
            row = get_job(connection, job)
        repeat = make(job_database, row).with_name_and_tags(name_and_tags)
        identifier, new = repeat.create(job_database, again)
        with job_database.engine.connect() as connection:
            row = get_job(connection, identifier)
    if new and repeat.message:
        output.say(repeat.message)
    finish(settings, identifier, run_or_follow(settings, row, new, name_and_tags, follow), follow)
