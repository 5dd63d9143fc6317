"""Print reports of conversions as text: rejections by filter, and accepted rows by source."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.table import Table

from lumos_queue.cli.output import escape
from lumos_queue.records import Role


def print_conversions(console: Any, reports: list[dict[str, Any]]) -> None:
    """Print the filters of each job. Then print, for all jobs, check levels and statistics as in the LUMOS paper."""
    for report in reports:
        if report["verdicts"]:
            _print_filters(console, report)
    costs = ["USD"] if any("cost" in report for report in reports) else []
    columns = (
        "source",
        "rows\nin",
        "planner\nrows",
        "grounder\nrows",
        "accepted\nfor both",
        "average\nturns",
        "rows/s",
    )
    table = _table("conversion", (*columns, *costs))
    for report in reports:
        accepted_rows, turns, speed = report["accepted"], report["average_turns"], report["rows_per_second"]
        table.add_row(
            escape(report["source"]),
            f"{report['rows_in']:,}",
            *(f"{accepted_rows[name]:,}" for name in (Role.PLANNER, Role.GROUNDER, "both")),
            "" if turns is None else f"{turns:.2f}",
            "" if speed is None else f"{speed:,.{0 if speed >= 10 else 1}f}",
            *([format_cost(report["cost"]) if "cost" in report else ""] if costs else []),
        )
    console.print(table)
    _print_levels(console, reports)
    for text in dict.fromkeys(text for report in reports for text in report["remarks"]):
        console.print(escape(text), soft_wrap=True)
    for report in reports:
        _print_outcomes(console, report)


def _print_levels(console: Any, reports: list[dict[str, Any]]) -> None:
    if not any(report["at_least"] for report in reports):
        return
    columns = ("source", "at least", "rows", "of rows in", "of accepted")
    table = _table("rows accepted for both, by check level", columns)
    for report in reports:
        for level, counts in report["at_least"].items():
            shares = (f"{100 * counts[name]:.1f} %" for name in ("of_rows_in", "of_accepted"))
            table.add_row(escape(report["source"]), level, f"{counts['rows']:,}", *shares)
    console.print(table)


def _print_outcomes(console: Any, report: dict[str, Any]) -> None:
    """Print the rows by outcome, check level and rule, so that the conversion ends with what it accepted."""
    totals = ", ".join(f"{rows:,} {outcome}" for outcome, rows in report["outcome_totals"].items())
    title = f"rows of {report['source']} ({report['job']}): {totals}"
    table = _table(escape(title), ("outcome", "check level", "rule", "rows"))
    for group in report["outcomes"]:
        rule = f"{group['rule']}, {group['note']}" if group["note"] else group["rule"]
        table.add_row(group["outcome"], group["level"] or "none", escape(rule), f"{group['rows']:,}")
    if report["outcomes"]:
        console.print(table)


def _print_filters(console: Any, report: dict[str, Any]) -> None:
    columns = ("filter", Role.PLANNER, Role.GROUNDER)
    table = _table(escape(f"filters of {report['source']} ({report['job']}), rows by module"), columns)
    for verdict in report["verdicts"]:
        name = escape(f"{verdict['name']}: {verdict['meaning']}" if verdict["meaning"] else verdict["name"])
        cells = [f"{verdict[module]:,}" if verdict[module] else "" for module in (Role.PLANNER, Role.GROUNDER)]
        table.add_row(name, *cells, style=None if verdict["rejects"] else "dim")
    console.print(table)


def _table(title: str, columns: tuple[str, ...]) -> Table:
    table = Table(title=title, title_justify="left", header_style="bold", box=box.SIMPLE_HEAD)
    for name in columns:
        text = name in ("source", "filter", "at least", "outcome", "check level", "rule")
        table.add_column(name, no_wrap=not text, justify="left" if text else "right", overflow="fold")
    return table


def format_cost(cost: dict[str, Any]) -> str:
    """Return the cost in USD, with the budget if there is one."""
    return f"{cost['usd']:.4f}" + (f" of {cost['budget']:g}" if cost["budget"] else "")
