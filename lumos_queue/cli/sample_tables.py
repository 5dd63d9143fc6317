"""Rows of reports for jobs that tried each task several times."""

from __future__ import annotations

from typing import Any

from rich.table import Table

#: Shares by the number of samples: the key in a report's `samples`, and its label.
SHARES = {"pass_at": "pass", "majority_at": "maj"}


def add_samples(table: Table, reports: list[dict[str, Any]]) -> None:
    """Add rows with the flip rate, pass@k and maj@k of reports, each with its interval and its number of tasks."""
    figures = [report.get("samples") for report in reports]
    if not any(figures):
        return
    table.add_row("flip rate, % [95 %]", *(_format(samples["flips"], "rate") if samples else "" for samples in figures))
    for name, label in SHARES.items():
        for k in sorted({share["k"] for samples in figures if samples for share in samples.get(name, ())}):
            table.add_row(f"{label}@{k}, % [95 %]", *(_format_share(samples, name, k) for samples in figures))


def _format_share(samples: dict[str, Any] | None, name: str, k: int) -> str:
    share = next((share for share in (samples or {}).get(name, ()) if share["k"] == k), None)
    return _format(share, "value") if share else ""


def _format(measurement: dict[str, Any], name: str) -> str:
    if measurement[name] is None:
        return f"none of {measurement['too_few']:,} tasks"
    low, high = measurement["ci95"]
    suffix = (
        f"\n{measurement['of']:,} tasks, {measurement['too_few']:,} judged too seldom" if measurement["too_few"] else ""
    )
    return f"{100 * measurement[name]:.1f} [{100 * low:.1f}, {100 * high:.1f}]{suffix}"
