"""Reports of conversions for people: why rows were rejected, and what each source gave."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.table import Table

from lumos_queue.cli.tables import escape
from lumos_queue.records import LEVELS


def print_conversions(console: Any, reports: list[dict[str, Any]]) -> None:
    """For each job its filters, then all of them as the LUMOS paper's table of conversion statistics."""
    for report in reports:
        if report["verdicts"]:
            _print_filters(console, report)
    levels = [level for level in reversed(LEVELS) if any(level in report["levels"] for report in reports)]
    costs = ["USD"] if any("cost" in report for report in reports) else []
    table = Table(title="conversion", title_justify="left", header_style="bold", box=box.SIMPLE_HEAD)
    for name in ("source", "rows\nin", "planner\nrows", "grounder\nrows", "average\nturns", *levels, *costs):
        table.add_column(name, no_wrap=True, justify="left" if name == "source" else "right")
    for report in reports:
        accepted, turns, cost = report["accepted"], report["average_turns"], report.get("cost")
        table.add_row(
            escape(report["source"]), f"{report['rows_in']:,}", f"{accepted['planner']:,}", f"{accepted['grounder']:,}",
            "" if turns is None else f"{turns:.2f}", *(f"{report['levels'].get(level, 0):,}" for level in levels),
            *([_cost(cost) if cost else ""] if costs else []),
        )  # fmt: skip
    console.print(table)


def _print_filters(console: Any, report: dict[str, Any]) -> None:
    title = f"filters of {report['source']} ({report['job']})"
    table = Table(title=escape(title), title_justify="left", header_style="bold", box=box.SIMPLE_HEAD)
    for name in ("filter", "planner", "grounder"):
        table.add_column(name, justify="left" if name == "filter" else "right")
    for one in report["verdicts"]:
        name = one["name"] if one["rejects"] else f"{one['name']} (noted)"
        cells = [f"{one[module]:,}" if one[module] else "" for module in ("planner", "grounder")]
        table.add_row(escape(name), *cells, style=None if one["rejects"] else "dim")
    console.print(table)


def _cost(cost: dict[str, Any]) -> str:
    return f"{cost['usd']:.4f}" + (f" of {cost['budget']:g}" if cost["budget"] else "")
