"""Print scores by groups of tasks, and overall scores."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.table import Table

from lumos_queue.cli.output import escape

_METRICS = 2  #: metrics that are shown for each group, as a terminal has 80 columns; --json has all


def print_groups(console: Any, report: dict[str, Any]) -> None:
    """Print the overall scores of a report, and its scores by group, if it has any."""
    if "overall" in report:
        _print_overall(console, report)
    for name, groups in report.get("groups", {}).items():
        table = new_table(f"scores of {report['job']} by {name}, per cent [95 %]")
        table.add_column("items", justify="right")
        metrics = list(report["metrics"])[:_METRICS]
        overalls = _overalls_with_figures(report)
        for column in (*metrics, *overalls):
            table.add_column(escape(column.replace("_", " ")), justify="right")
        for group, scores in groups.items():
            cells = [format_score(scores["metrics"].get(metric)) for metric in metrics]
            cells += [format_score(scores["overall"].get(overall, {}).get("over_tasks")) for overall in overalls]
            table.add_row(escape(group), f"{scores['n']:,}", *cells)
        console.print(table)


def _print_overall(console: Any, report: dict[str, Any]) -> None:
    table = new_table(f"overall scores of {report['job']}, per cent [95 %]")
    for name in ("over metrics", "metrics", "over tasks", "items"):
        table.add_column(name, justify="right")
    for name in _overalls_with_figures(report):
        overall = report["overall"][name]
        metrics, tasks = overall["over_metrics"], overall["over_tasks"]
        table.add_row(escape(name), format_score(metrics), str(metrics["n"]), format_score(tasks), f"{tasks['n']:,}")
    if table.row_count:
        console.print(table)
    for name, overall in report["overall"].items():
        if "not_run" in overall:
            names = ", ".join(overall["not_run"])
            message = f"{report['job']}: overall score '{escape(name)}' not run: nothing was judged by {escape(names)}"
            console.print(message, soft_wrap=True)
    console.print()


def _overalls_with_figures(report: dict[str, Any]) -> list[str]:
    return [name for name, overall in report.get("overall", {}).items() if "over_tasks" in overall]


def format_score(score: dict[str, Any] | None) -> str:
    """Return a metric's value with its interval, in per cent; for an unfinished job, the range it can still reach."""
    if score is None:
        return ""
    if "bounds" in score:
        low, high = score["bounds"]
        return f"incomplete {100 * low:.0f} to {100 * high:.0f}"
    low, high = score["ci95"]
    return f"{100 * score['value']:.1f} [{100 * low:.0f}, {100 * high:.0f}]"


def new_table(title: str) -> Table:
    """Return an empty table with this title, whose first column is for the names of the rows."""
    table = Table(title=title, title_justify="left", header_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    table.min_width = len(title)  # otherwise the title is wrapped at the width of the columns
    table.add_column("", no_wrap=True)
    return table
