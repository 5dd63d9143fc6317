"""Print the parts of reports about tool agents: the provenance of answers, and figures of Sum2Act's roles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich import box
from rich.table import Table

from lumos_queue.cli.output import escape
from lumos_queue.records import Role
from lumos_queue.reports.tool_rules import label_metric


def _format_share(share: dict[str, Any]) -> str:
    if not share["of"]:
        return "no such call"
    low, high = (100 * bound for bound in share["ci95"])
    return f"{share['count']:,} of {share['of']:,}: {100 * share['value']:.1f} % [{low:.1f}, {high:.1f}]"


def _of_router(name: str) -> Callable[[dict[str, Any]], str]:
    return lambda report: f"{report[Role.ROUTER][name]:,}" if Role.ROUTER in report else ""


def _of_verdicts(name: str) -> Callable[[dict[str, Any]], str]:
    return lambda report: _format_share(report[Role.STATE_MANAGER][name]) if Role.STATE_MANAGER in report else ""


#: Rows of the table of reports for Sum2Act.
STATE_ROWS = (
    ("router's decisions", _of_router("decisions")),
    ("  refused as repeated", _of_router("repeated")),
    ("  asked again (repair)", _of_router("repairs")),
    ("  forced to finish", _of_router("forced")),
    ("records summarised", _of_router("summaries")),
    ("verdict ≠ status", _of_verdicts("disagreement")),
    ("  success, call failed", _of_verdicts("success_of_failed_calls")),
    ("  failure, call is ok", _of_verdicts("failure_of_ok_calls")),
    ("  unreadable records", lambda r: f"{r[Role.STATE_MANAGER]['unreadable']:,}" if Role.STATE_MANAGER in r else ""),
)


def print_tool_calls(console: Any, report: dict[str, Any]) -> None:
    """Print tool calls by status and provenance, and scores by provenance if the episodes differ in it."""
    if calls := report.get("tool_calls"):
        _print_calls(console, report["job"], calls)
    if scores := report.get("by_provenance"):
        _print_scores(console, report, scores)


def _print_calls(console: Any, job: str, calls: list[dict[str, Any]]) -> None:
    table = _table(f"tool calls of {job} by provenance", "status")
    columns, statuses = (list(dict.fromkeys(call[name] for call in calls)) for name in ("provenance", "status"))
    counts = {(call["status"], call["provenance"]): call["calls"] for call in calls}
    for name in columns:
        table.add_column(escape(name), justify="right")
    table.add_column("all", justify="right")
    for status in statuses:
        row_counts = [counts.get((status, name), 0) for name in columns]
        table.add_row(escape(status), *(f"{count:,}" if count else "" for count in row_counts), f"{sum(row_counts):,}")
    sums = [sum(counts.get((status, name), 0) for status in statuses) for name in columns]
    table.add_row("all", *(f"{count:,}" for count in sums), f"{sum(sums):,}", style="bold")
    console.print(table)


def _print_scores(console: Any, report: dict[str, Any], scores: dict[str, Any]) -> None:
    table = _table(f"scores of {report['job']}, by the least real answer of an episode", "")
    for name in scores:
        table.add_column(escape(name), justify="right")
    table.add_row("items", *(f"{group['n']:,}" for group in scores.values()))
    for metric in dict.fromkeys(name for group in scores.values() for name in group if name != "n"):
        table.add_row(
            f"{label_metric(report, metric)} [95 %]", *(_format_score(group.get(metric)) for group in scores.values())
        )
    console.print(table)


def _format_score(score: dict[str, Any] | None) -> str:
    if score is None:
        return ""
    low, high = score["ci95"]
    return f"{100 * score['value']:.1f} % [{100 * low:.1f}, {100 * high:.1f}]"


def _table(title: str, first: str) -> Table:
    table = Table(title=title, title_justify="left", header_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    table.min_width = len(title)  # otherwise the title is wrapped at the width of the columns
    table.add_column(first, no_wrap=True)
    return table
