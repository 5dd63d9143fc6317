"""`lumos report --html FILE` and `--md FILE`: write reports to files."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lumos_queue.cli import output
from lumos_queue.cli.exit_codes import Exit
from lumos_queue.util.model_loading import import_libraries
from lumos_queue.util.wording import format_bytes

if TYPE_CHECKING:
    from lumos_queue.pages.blocks import Document
    from lumos_queue.pages.material import Prices
    from lumos_queue.settings import Settings

Html = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE", help="Write the report to a new file, with charts and trajectories."),
]
Markdown = Annotated[Path | None, typer.Option("--md", metavar="FILE", help="The same as Markdown, without charts.")]
PricePrompt = Annotated[
    float | None, typer.Option(min=0.0, help="For these files: USD per million prompt tokens.", show_default=False)
]
PriceCompletion = Annotated[
    float | None, typer.Option(min=0.0, help="For these files: USD per million completion tokens.", show_default=False)
]


def write_reports(
    settings: Settings,
    jobs: list[str],
    html: Path | None,
    md: Path | None,
    prices: Prices | None,
    by: Sequence[str] = (),
) -> Exit:
    """Write the report of jobs, with scores by the fields `by`, to one or two new files, and print their paths.

    Return INCOMPLETE if a job ended incomplete, else FINE. Raises SpecError for a file that exists or is not writable.
    """
    from db.engine.lease import Lease
    from db.queries.jobs import get_job

    with import_libraries():
        from lumos_queue.pages.compose import read_page
        from lumos_queue.pages.fit import write_small
    from lumos_queue.deployment.database import database
    from lumos_queue.reports.completeness import remark

    check_files(html, md)
    with database(settings) as job_database, job_database.engine.connect() as connection:
        page = read_page(
            connection, [get_job(connection, job) for job in jobs], Lease(settings.lease_seconds), prices, by
        )
    write_files(html, md, lambda render: write_small(page, render), {"jobs": [job.id for job in page.material.jobs]})
    return Exit.INCOMPLETE if any(remark(job.report.result) for job in page.material.jobs) else Exit.FINE


def check_files(html: Path | None, md: Path | None) -> None:
    """Raise SpecError for a file that exists or is not writable, and for one file for both formats."""
    from lumos_queue.errors import SpecError
    from lumos_queue.util.launch_folder import from_launch
    from lumos_queue.util.new_file import require_new

    paths = [from_launch(path) for path in (html, md) if path is not None]
    for path in paths:
        require_new(path)
    if len({os.path.normpath(path.absolute()) for path in paths}) < len(paths):
        raise SpecError(f"--html and --md both name '{html}': give each its own file.")


def write_files(
    html: Path | None,
    md: Path | None,
    write: Callable[[Callable[[Document], str]], bytes],
    summary: dict[str, Any],
) -> None:
    """Write a page to new files by `write`, which takes the renderer of a format; print `summary` and the paths."""
    from lumos_queue.pages.html import render_html
    from lumos_queue.pages.markdown import render_markdown
    from lumos_queue.util.launch_folder import from_launch
    from lumos_queue.util.new_file import write_new

    for path, render, name in ((html, render_html, "html"), (md, render_markdown, "md")):
        if path is not None:
            target = from_launch(path)
            summary[name] = {"file": str(target), "bytes": write_new(target, write(render))}
    output.result(summary, _print_files)


def prices_of(prompt: float | None, completion: float | None) -> Prices | None:
    """Return the prices, or None without any; a missing price is 0. Raises SpecError for a price that is not finite."""
    if prompt is None and completion is None:
        return None
    from math import isfinite

    from lumos_queue.errors import SpecError

    with import_libraries():
        from lumos_queue.pages.material import Prices

    prices = Prices(prompt or 0.0, completion or 0.0)
    if not isfinite(prices.prompt + prices.completion):
        raise SpecError("Prices must be finite numbers, in USD per million tokens.")
    return prices


def require_no_prices(prices: Prices | None) -> None:
    """Raise SpecError if there are prices although no file is written."""
    from lumos_queue.errors import SpecError

    if prices is not None:
        raise SpecError("--price-prompt and --price-completion are for --html FILE or --md FILE: name a file.")


def _print_files(summary: dict[str, Any]) -> None:
    for name in ("html", "md"):
        if name in summary:
            output.show(f"{summary[name]['file']}: {format_bytes(summary[name]['bytes'])}")
