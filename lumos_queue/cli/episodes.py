"""`lumos episodes`: find stored episodes, one page at a time."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output
from lumos_queue.submission.requests.option import MAX_INTEGER

if TYPE_CHECKING:
    from lumos_queue.reports.episode_list import EpisodeLine

_WHERE = "Which episodes: terms FIELD OPERATOR VALUE that must all hold, as in 'score<1 subgoals<=4' (docs/queries.md)."


def episodes(
    job: Annotated[
        str | None, typer.Argument(metavar="JOB", help="Only of this job: its id, or an unambiguous beginning of it.")
    ] = None,
    where: Annotated[str, typer.Option(metavar="FILTER", help=_WHERE)] = "",
    after: Annotated[
        str,
        typer.Option(metavar="CURSOR", help="Start after this episode, JOB-NUMBER; with JOB: start at this number."),
    ] = "",
    limit: Annotated[int, typer.Option(min=1, max=MAX_INTEGER - 1, help="Episodes per page.")] = 20,
    json: opt.Json = False,
) -> None:
    """List finished episodes that match a filter.

    With JOB, list only the episodes of this job.
    """
    from db.engine.snapshot import reading
    from db.queries.episode_names import read_cursor
    from db.queries.filters import Filter, term
    from db.queries.jobs import get_job
    from db.queries.text_search import find_page
    from lumos_queue.deployment.database import database
    from lumos_queue.reports.episode_list import describe_episode
    from lumos_queue.reports.json_values import as_json
    from lumos_queue.settings import read_settings
    from lumos_queue.submission.filters import read_where

    with database(read_settings()) as job_database:
        with reading(job_database) as connection:
            job_id = get_job(connection, job).id if job is not None else ""
        condition = read_where(job_database, where, job_id)
        with reading(job_database) as connection:
            in_job = Filter((term("job", "=", job_id),)) if job_id else Filter()
            start = read_cursor(connection, job_id, after) if after else 0
            page = find_page(connection, in_job & condition, start, limit + 1)
    matches = [describe_episode(row) for row in page.rows[:limit]]
    result: dict[str, Any] = {"job": job_id} if job_id else {}
    result |= {"where": str(condition), "episodes": as_json(matches)}
    result["next"] = matches[-1].episode if len(page.rows) > limit else page.stopped_at
    if page.searched is not None:
        result["searched"] = page.searched
    output.result(result, lambda value: _print_page(value, matches, job_id, limit))


def _print_page(result: dict[str, Any], episodes: Sequence[EpisodeLine], job: str, limit: int) -> None:
    from lumos_queue.cli.episode_list import print_episodes
    from lumos_queue.cli.output import escape

    console = output.console()
    if episodes:
        print_episodes(episodes, one_job=bool(job))
    elif not result["next"]:
        console.print("No finished episode matches.")
    full = len(episodes) == limit
    if result["next"] and not full:
        count = len(episodes) or "none"
        console.print(f"{result['searched']:,} episodes were searched for the text, {count} matched: there are more.")
    if result["next"]:
        words = ["lumos", "episodes", *([job] if job else [])]
        words += ["--where", result["where"]] if result["where"] else []
        command = shlex.join([*words, "--after", result["next"], "--limit", str(limit)])
        console.print(f"{'Next page' if full else 'Continue'}: {escape(command)}", soft_wrap=True)
