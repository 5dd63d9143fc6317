"""`lumos tables`: the papers' tables beside what was run here, and the command that runs a row of them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output


def tables(
    what: Annotated[str, typer.Argument(
        metavar="[TABLE[/ROW[/BENCHMARK]]]", help="1a to 8, or a row as in 1b/LUMOS-I/gsm8k; all tables without."
    )] = "",
    run: Annotated[bool, typer.Option("--run", help="Evaluate the row with exactly its configuration.")] = False,
    planner: opt.Planner = "", grounder: opt.Grounder = "", solver: opt.Solver = "", role: opt.Roles = [],
    tool: opt.ToolOptions = [], option: opt.RowOptions = [], data: opt.Data = None,
    any_weights: Annotated[bool, typer.Option("--any-weights", help="Run with other weights than the row's.")] = False,
    live: opt.Live = False, replay: opt.Replay = "", skip_bad_rows: opt.SkipBad = False, again: opt.Again = False,
    follow: opt.Follow = False, priority: opt.Priority = 0, json: opt.Json = False,
) -> None:  # fmt: skip
    """Every row of the LUMOS papers' tables: what was published, what stored evaluations come to, what a row needs."""
    from lumos_queue.cli.paper_tables import print_tables
    from lumos_queue.settings import read_settings

    settings = read_settings()
    if not run:
        shown = _shown(settings, what)
        return output.result({"tables": shown}, lambda _: print_tables(shown))
    from lumos_queue.cli.run import submit_and_run
    from lumos_queue.cli.submit import finish
    from lumos_queue.papers.running import find_row, options_of
    from lumos_queue.submission.agents import parse_pairs
    from lumos_queue.submission.job_request import inference

    _, row, column = find_row(what)
    given = {"planner": planner, "grounder": grounder, "solver": solver}
    roles = {name: url for name, url in given.items() if url} | parse_pairs("--role", role)
    if not any_weights:
        _require_weights(row, column, roles, settings)
    options = options_of(
        row,
        column,
        data=data,
        roles=roles,
        tools=tool,
        options=option,
        live=live,
        replay=replay,
        skip_bad_rows=skip_bad_rows,
    )
    job, rows = inference("evaluate", options, settings, output.say)
    follow = follow or not settings.broker_url
    identifier, code = submit_and_run(settings, job, rows, priority=priority, again=again, follow=follow)
    finish(settings, identifier, code, follow)


def _require_weights(row: Any, column: Any, roles: dict[str, str], settings: Any) -> None:
    """Ask every endpoint who it is, before anything is stored."""
    import asyncio

    from lumos_queue.papers.matching import model_of
    from lumos_queue.papers.running import check_weights
    from lumos_queue.submission.agents import identify, resolve_address

    urls = {role: resolve_address(url, deployed=False) for role, url in roles.items()}
    told = asyncio.run(identify(set(urls.values()), settings))
    check_weights(row, column, {role: model_of(told[url]) for role, url in urls.items()})


def _shown(settings: Any, what: str) -> list[dict[str, Any]]:
    """The tables asked for; of one row where one is named. Without a database nothing was run."""
    from lumos_queue.errors import SpecError, unknown
    from lumos_queue.papers.comparison import KEYS, papers_tables
    from lumos_queue.submission.database import database

    key, _, row = what.partition("/")
    keys = [key] if key else KEYS
    if _stored(settings):
        with database(settings) as opened, opened.engine.connect() as connection:
            shown = papers_tables(connection, keys)
    else:
        shown = papers_tables(None, keys)
    if row:
        handle, _, benchmark = row.partition("/")
        rows = shown[0]["rows"]
        shown[0]["rows"] = [
            one for one in rows if one.get("handle") == f"{key}/{handle}" and benchmark in ("", one["benchmark"])
        ]
        handles = {one["handle"].partition("/")[2] for one in rows if "handle" in one}
        if not handles:
            raise SpecError(f"Table {key} has no rows that can be run: `lumos tables {key}` shows all of it.")
        if handle not in handles:
            raise unknown(f"row of table {key}", handle, handles)
        if not shown[0]["rows"]:
            raise SpecError(f"The row '{handle}' of table {key} has no figure for '{benchmark}'.")
    return shown


def _stored(settings: Any) -> bool:
    """Whether there is a database; the embedded one is made by the first job."""
    from pathlib import Path

    url = settings.database
    return not url.startswith("sqlite:///") or Path(url.removeprefix("sqlite:///")).exists()
