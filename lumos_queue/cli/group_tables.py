"""Scores by what tasks have in common, and overall scores, for people."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.table import Table

from lumos_queue.cli.output import escape

_METRICS = 2  #: of a report's metrics, as many are shown for each group: a terminal has 80 columns; --json has all


def print_groups(console: Any, report: dict[str, Any]) -> None:
    """The overall scores of a report, and its scores by group, where it has any."""
    if "overall" in report:
        _print_overall(console, report)
    for name, groups in report.get("groups", {}).items():
        table = new_table(f"scores of {report['job']} by {name}, per cent [95 %]")
        table.add_column("items", justify="right")
        metrics = list(report["metrics"])[:_METRICS]
        overalls = _overalls_with_figures(report)
        for one in (*metrics, *overalls):
            table.add_column(escape(one.replace("_", " ")), justify="right")
        for group, found in groups.items():
            cells = [format_score(found["metrics"].get(metric)) for metric in metrics]
            cells += [format_score(found["overall"].get(one, {}).get("over_tasks")) for one in overalls]
            table.add_row(escape(group), f"{found['n']:,}", *cells)
        console.print(table)


def _print_overall(console: Any, report: dict[str, Any]) -> None:
    table = new_table(f"overall scores of {report['job']}, per cent [95 %]")
    for name in ("over metrics", "metrics", "over tasks", "items"):
        table.add_column(name, justify="right")
    for name in _overalls_with_figures(report):
        found = report["overall"][name]
        metrics, tasks = found["over_metrics"], found["over_tasks"]
        table.add_row(escape(name), format_score(metrics), str(metrics["n"]), format_score(tasks), f"{tasks['n']:,}")
    if table.row_count:
        console.print(table)
    for name, found in report["overall"].items():
        if "not_run" in found:
            lacking = ", ".join(found["not_run"])
            said = f"{report['job']}: overall score '{escape(name)}' not run: nothing was judged by {escape(lacking)}"
            console.print(said, soft_wrap=True)
    console.print()


def _overalls_with_figures(report: dict[str, Any]) -> list[str]:
    return [name for name, found in report.get("overall", {}).items() if "over_tasks" in found]


def format_score(found: dict[str, Any] | None) -> str:
    """A metric's value with its interval, in per cent; of an unfinished job the range that it can still reach."""
    if found is None:
        return ""
    if "bounds" in found:
        low, high = found["bounds"]
        return f"incomplete {100 * low:.0f} to {100 * high:.0f}"
    low, high = found["ci95"]
    return f"{100 * found['value']:.1f} [{100 * low:.0f}, {100 * high:.0f}]"


def new_table(title: str) -> Table:
    """A table under a title, with the column that says what a row is about."""
    table = Table(title=title, title_justify="left", header_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    table.min_width = len(title)  # else the title is broken where the columns end
    table.add_column("", no_wrap=True)
    return table
