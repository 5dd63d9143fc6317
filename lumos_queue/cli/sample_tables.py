"""Rows of reports for jobs that tried each task several times."""

from __future__ import annotations

from typing import Any

from rich.table import Table


def add_samples(table: Table, reports: list[dict[str, Any]]) -> None:
    """Add the flip rate and pass@k of reports, each with its interval and the tasks it is over."""
    found = [report.get("samples") for report in reports]
    if not any(found):
        return
    table.add_row("flip rate, % [95 %]", *(_format(one["flips"], "rate") if one else "" for one in found))
    for k in sorted({one["k"] for samples in found if samples for one in samples.get("pass_at", ())}):
        cells = [next((one for one in samples.get("pass_at", ()) if one["k"] == k), None) if samples else None
                 for samples in found]  # fmt: skip
        table.add_row(f"pass@{k}, % [95 %]", *(_format(one, "value") if one else "" for one in cells))


def _format(measured: dict[str, Any], name: str) -> str:
    if measured[name] is None:
        return f"none of {measured['too_few']:,} tasks"
    low, high = measured["ci95"]
    over = f"\n{measured['of']:,} tasks, {measured['too_few']:,} judged too seldom" if measured["too_few"] else ""
    return f"{100 * measured[name]:.1f} [{100 * low:.1f}, {100 * high:.1f}]{over}"
