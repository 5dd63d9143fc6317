"""Print the rates of a judge's job by both rules of ToolEval."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.table import Table

from lumos_queue.reports.tool_rules import PASS, TIED, WIN, WON

_ROWS = {PASS: "tooleval pass", WIN: "win", WON: "  won", TIED: "  tied"}


def add_rules(
    table: Table, reports: list[dict[str, Any]], format_metric: Callable[[dict[str, Any] | None], str]
) -> None:
    """Add a row for each rate and rule to the table of reports."""
    names = dict.fromkeys(name for report in reports for name in report.get("rules", {}))
    for figure, label in _ROWS.items():
        for name in names:
            metrics = [report.get("rules", {}).get(name, {}).get(figure) for report in reports]
            if any(metrics):
                table.add_row(f"{label}, rule={name} [95 %]", *map(format_metric, metrics))


def print_lacking_votes(console: Any, report: dict[str, Any]) -> None:
    """Print for each rule how many runs lack votes that it needs."""
    for name, figures in report.get("rules", {}).items():
        if count := figures.get("lacking"):
            console.print(
                f"{report['job']}: {count:,} of {report['n']:,} runs lack votes by which rule={name} compares them. "
                "Earlier versions did not ask for them: judge the runs again with lumos judge.",
                soft_wrap=True,
            )
