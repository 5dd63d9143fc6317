"""`lumos tag`: change a job's name and tags."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output


def tag(
    job: opt.JobId,
    tags: Annotated[
        list[str],
        typer.Argument(
            metavar="[KEY=VALUE]...", show_default=False, help="Tags to set; they replace tags of the same keys."
        ),
    ] = [],
    name: Annotated[str | None, typer.Option("--name", help="The job's new name; '' removes its name.")] = None,
    remove: Annotated[
        list[str], typer.Option("--remove", metavar="KEY", help="Key of a tag to remove; repeatable.")
    ] = [],
    json: opt.Json = False,
) -> None:
    """Change a job's name and tags, or show them."""
    from db.queries.jobs import get_job
    from db.queue.tags import change_tags
    from lumos_queue.deployment.database import database
    from lumos_queue.settings import read_settings
    from lumos_queue.submission.tags import read_name, read_tags

    new_tags, new_name = read_tags(tags), None if name is None else read_name(name)
    with database(read_settings()) as job_database:
        with job_database.engine.connect() as connection:
            row = get_job(connection, job)
        name_and_tags = change_tags(job_database, row.id, new_name, new_tags, remove)
    output.result({"job": row.id, "name": name_and_tags.name, "tags": dict(name_and_tags.tags)}, _print_tags)


def _print_tags(summary: dict[str, Any]) -> None:
    label = f"is called '{summary['name']}'" if summary["name"] else "has no name"
    tags = ", ".join(f"{key}={value}" for key, value in summary["tags"].items())
    output.show(f"job {summary['job']} {label}; tags: {tags or 'none'}")
