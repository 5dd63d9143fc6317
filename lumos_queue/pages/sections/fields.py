"""Split scores of a job, and differences of two jobs, by fields of tasks: each field has a forest plot and a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from db.queries.task_fields import shorten
from lumos_queue.pages.blocks import Figure, Table
from lumos_queue.pages.charts.forest import Estimate, draw_forest
from lumos_queue.pages.charts.scale import round_up
from lumos_queue.pages.material import JobMaterial
from lumos_queue.pages.wording import format_points, format_probability, format_share, format_whole_metric, plain
from lumos_queue.reports.field_groups import name_group

HOLM = "p-values are corrected by Holm's method over all groups of the field."


def scores_by_field(job: JobMaterial) -> Iterator[Figure]:
    """Yield a figure for each field by which the report is split."""
    for number, (field, groups) in enumerate(job.report.get("by", {}).items()):
        title = f"{job.label} by {shorten(field)}: {plain(job.metric)}"
        metrics = list(job.report.get("metrics", {})) or [job.metric]
        rows = []
        for group in groups:
            score = group["metrics"].get(job.metric)
            bounds = (score["bounds"][0], score["bounds"][1]) if score and "bounds" in score else None
            value, (low, high) = (score["value"], score["ci95"]) if score else (None, (None, None))
            rows.append(
                Estimate(
                    name_group(group),
                    value,
                    low,
                    high,
                    "ours",
                    bounds,
                    _format_items(group["n"], format_whole_metric(score)),
                )
            )
        lines = [
            [
                name_group(group),
                f"{group['n']:,}",
                *(format_whole_metric(group["metrics"].get(metric)) for metric in metrics),
            ]
            for group in groups
        ]
        table = Table(title, [shorten(field), "items", *map(plain, metrics)], lines)
        yield Figure(draw_forest(f"by-{job.id}-{number}", title, rows), table)


def _format_items(items: int, text: str) -> str:
    return f"n = {items:,}: {text}" if text else f"n = {items:,}"


def differences_by_field(key: str, comparison: Mapping[str, Any], metric: str) -> Iterator[Figure]:
    """Yield a figure for each field by which the comparison of two jobs is split."""
    for number, (field, groups) in enumerate(comparison.get("by", {}).items()):
        title = f"{comparison['b']} − {comparison['a']} by {shorten(field)}, in points of {plain(metric)}"
        rows, lines = [], []
        for group in groups:
            name = name_group(group)
            if not group["pairs"]:
                rows.append(Estimate(name, None, amount="no pairs"))
                lines.append([name, "0", *[""] * 6])
                continue
            low, high = group["ci95"]
            value, interval = format_points(group["difference"]), f"[{format_points(low)}, {format_points(high)}]"
            rows.append(
                Estimate(
                    name,
                    group["difference"],
                    low,
                    high,
                    "ours",
                    None,
                    _format_items(group["pairs"], f"{value} {interval}"),
                )
            )
            scores = [format_share(group[side]["value"]) for side in ("value_a", "value_b")]
            chances = [format_probability(group[chance]) for chance in ("p", "p_holm")]
            lines.append([name, f"{group['pairs']:,}", *scores, value, interval, *chances])
        ends = [abs(end) for group in groups if group["pairs"] for end in (*group["ci95"], group["difference"])]
        axis_end = min(round_up(max(ends, default=0.1)), 1.0)
        jobs = [comparison["a"], comparison["b"]]
        heads = [shorten(field), "pairs", *jobs, "difference", "95 % interval", "p", "p, Holm"]
        table = Table(title, heads, lines, HOLM)
        yield Figure(draw_forest(f"{key}-by-{number}", title, rows, -axis_end, axis_end, "points"), table)
