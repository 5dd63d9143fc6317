"""`lumos tag`: change what a job is called."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output


def tag(
    job: opt.JobId,
    tags: Annotated[
        list[str],
        typer.Argument(metavar="[KEY=VALUE]...", show_default=False, help="Tags to set; one of that key is replaced."),
    ] = [],
    name: Annotated[str | None, typer.Option("--name", help="The job's new name; '' takes its name away.")] = None,
    remove: Annotated[list[str], typer.Option("--remove", metavar="KEY", help="Tag to take away; repeatable.")] = [],
    json: opt.Json = False,
) -> None:
    """Change a job's name and tags, or show them."""
    from db.jobs import get_job
    from db.tags import change_tags
    from lumos_queue.settings import read_settings
    from lumos_queue.submission.database import database
    from lumos_queue.submission.tags import read_name, read_tags

    wanted, called = read_tags(tags), None if name is None else read_name(name)
    with database(read_settings()) as opened:
        with opened.engine.connect() as connection:
            row = get_job(connection, job)
        found = change_tags(opened, row.id, called, wanted, remove)
    output.result({"job": row.id, "name": found.name, "tags": dict(found.tags)}, _print_tags)


def _print_tags(found: dict[str, Any]) -> None:
    called = f"is called '{found['name']}'" if found["name"] else "has no name"
    tags = ", ".join(f"{key}={value}" for key, value in found["tags"].items())
    output.show(f"job {found['job']} {called}; tags: {tags or 'none'}")
