"""`lumos board`: the scores of stored jobs as one table of models and benchmarks."""

from __future__ import annotations

from typing import Annotated

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output
from lumos_queue.cli import report_files as files
from lumos_queue.cli.deployment import open_deployment


def board(
    jobs: Annotated[list[str] | None, typer.Argument(metavar="[JOB]...", help="Evaluations; default: all.")] = None,
    where: opt.JobWhere = "",
    tag: Annotated[
        list[str], typer.Option("--tag", metavar="KEY=VALUE", help="Only jobs with this tag. May be repeated.")
    ] = [],
    by: Annotated[str, typer.Option(metavar="FIELD", help="What a row is: model, formulation, or tag:KEY.")] = "model",
    html: files.Html = None,
    md: files.Markdown = None,
    json: opt.Json = False,
) -> None:
    """Show models and benchmarks in one table.

    Each cell has the score of an agent, its interval, the number of items, and the jobs behind it. Jobs share a column
    only if rows, split, metric and answer reader are the same.
    """
    from db.queries.jobs import get_job
    from lumos_queue.pages.board import compose_board
    from lumos_queue.pages.sections.board import board as board_blocks
    from lumos_queue.reports.board import make_board
    from lumos_queue.reports.json_values import as_json
    from lumos_queue.submission.job_selection import choose_evaluations

    files.check_files(html, md)
    deployment = open_deployment()
    terms = " ".join(filter(None, [where, *(f"tag.{term}" for term in tag)]))
    option = "--where" if where else "--tag"
    names = choose_evaluations(deployment.database, deployment.lease, jobs or (), terms, option)
    with deployment.database.engine.connect() as connection:
        table = make_board(connection, [get_job(connection, name) for name in names], by)
        page = compose_board(connection, table)
    if html is None and md is None:
        output.result(as_json(table), lambda _: output.print_page(*board_blocks(table)))
    else:
        files.write_files(html, md, lambda render: render(page).encode(), {"jobs": names})
