"""`lumos papers`: compare the papers' tables with stored jobs, and run a row of a table."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from db.kinds.job_kinds import JobKind
from lumos_queue.cli import options as opt
from lumos_queue.cli import output
from lumos_queue.cli.submit_command import takes_submit_options
from lumos_queue.records import Role
from lumos_queue.submission.submit_options import SubmitOptions
from lumos_queue.util.model_loading import import_libraries

if TYPE_CHECKING:
    from lumos_queue.papers.model import PaperColumn, PaperRow
    from lumos_queue.papers.table_values import PaperTableRows
    from lumos_queue.settings import Settings


@takes_submit_options
def papers(
    selection: Annotated[
        str,
        typer.Argument(
            metavar="[TABLE[/ROW[/COLUMN]]]",
            help="A table (1a to 8, p3, sum2act-pass, openagi-1, …) or a row, e.g. 1b/LUMOS-I/gsm8k; default: all.",
        ),
    ] = "",
    run: Annotated[bool, typer.Option("--run", help="Evaluate the row, with exactly its configuration.")] = False,
    planner: opt.Planner = "",
    grounder: opt.Grounder = "",
    solver: opt.Solver = "",
    role: opt.Roles = [],
    tool: opt.ToolOptions = [],
    option: opt.RowOptions = [],
    data: opt.Data = None,
    any_weights: Annotated[bool, typer.Option("--any-weights", help="Allow weights other than the row's.")] = False,
    live: opt.Live = False,
    replay: opt.Replay = "",
    skip_bad_rows: opt.SkipBad = False,
    published: opt.Published = False,
    *,
    options: SubmitOptions,
    follow: bool,
    json: opt.Json = False,
) -> None:
    """Compare the papers' tables with stored jobs.

    Shows each published figure, the figure of a stored evaluation, and the requirements for running the row here.
    """
    with import_libraries():
        from lumos_queue.pages.sections.papers import papers as paper_blocks
        from lumos_queue.reports.json_values import as_json
    from lumos_queue.cli.deployment import open_deployment

    deployment = open_deployment()
    settings = deployment.settings
    if not run:
        tables = _read_tables(settings, selection)
        return output.result({"tables": as_json(tables)}, lambda _: output.print_page(*paper_blocks(tables)))
    from lumos_queue.cli.data_offer import with_data
    from lumos_queue.cli.submit import submit_and_finish
    from lumos_queue.papers.evaluation_options import check_rows, find_row, make_request
    from lumos_queue.papers.protocol import SAMPLING
    from lumos_queue.submission.agents import parse_pairs
    from lumos_queue.submission.job_request import Basis, make_inference_job

    _, row, column = find_row(selection)
    endpoints = {Role.PLANNER: planner, Role.GROUNDER: grounder, Role.SOLVER: solver}
    roles = {role_name: url for role_name, url in endpoints.items() if url} | parse_pairs("--role", role)
    if not any_weights:
        _require_weights(row, column, roles, settings)
    request = make_request(
        row,
        column,
        data=data,
        roles=roles,
        tools=tool,
        options=option,
        live=live,
        replay=replay,
        skip_bad_rows=skip_bad_rows,
        published=published,
    )
    basis = Basis(sampling=SAMPLING)
    job, rows = with_data(
        deployment.settings, lambda: make_inference_job(JobKind.EVALUATE, request, deployment, output.say, basis=basis)
    )
    assert rows is not None
    check_rows(row, rows, published)
    submit_and_finish(deployment, job, rows, options, follow=follow)


def _require_weights(row: PaperRow, column: PaperColumn, roles: dict[str, str], settings: Settings) -> None:
    """Check that the endpoints serve the weights of the row, before anything is stored."""
    import asyncio

    from lumos_queue.papers.evaluation_options import check_weights
    from lumos_queue.papers.stored_evaluations import model_of
    from lumos_queue.submission.agents import identify, resolve_address

    urls = {role: resolve_address(url, is_deployed=False) for role, url in roles.items()}
    identities = asyncio.run(identify(set(urls.values()), settings, output.say))
    check_weights(row, column, {role: model_of(identities[url]) for role, url in urls.items()})


def _read_tables(settings: Settings, selection: str) -> list[PaperTableRows]:
    """Return the selected table, one row of it, or all tables. Without a database, rows have no stored evaluation."""
    from lumos_queue.errors import SpecError, unknown

    with import_libraries():
        from lumos_queue.papers.comparison import KEYS, papers_tables
    from lumos_queue.deployment.database import database

    key, _, row = selection.partition("/")
    keys = [key] if key else KEYS
    if _has_database(settings):
        with database(settings) as job_database, job_database.engine.connect() as connection:
            tables = papers_tables(connection, keys)
    else:
        tables = papers_tables(None, keys)
    if row:
        handle, _, benchmark = row.partition("/")  # of tool agents: a subset
        (table,) = tables
        handles = {table_row.handle.partition("/")[2] for table_row in table.rows if table_row.handle}
        if not handles:
            raise SpecError(f"Table {key} has no rows that can be run. Show all of it with: lumos papers {key}")
        if handle not in handles:
            raise unknown(f"row of table {key}", handle, handles)
        rows = [
            table_row
            for table_row in table.rows
            if table_row.handle == f"{key}/{handle}" and benchmark in ("", table_row.benchmark, table_row.split)
        ]
        if not rows:
            raise SpecError(f"The row '{handle}' of table {key} has no figure for '{benchmark}'.")
        return [replace(table, rows=rows)]
    return tables


def _has_database(settings: Settings) -> bool:
    """Return whether the database exists: an embedded database is created by the first job."""
    from pathlib import Path

    url = settings.database
    return not url.startswith("sqlite:///") or Path(url.removeprefix("sqlite:///")).exists()
