"""Split scores of a job, and differences of two jobs, by fields of tasks: each field has a forest plot and a table."""

from __future__ import annotations

from collections.abc import Iterator

from db.queries.task_fields import shorten
from lumos_queue.pages.blocks import Figure, Table
from lumos_queue.pages.charts.forest import Estimate, draw_forest
from lumos_queue.pages.charts.scale import round_up
from lumos_queue.pages.material import JobMaterial
from lumos_queue.reports.comparison_values import PairComparison
from lumos_queue.reports.field_groups import name_group
from lumos_queue.reports.score_values import FieldGroupScores
from lumos_queue.util.wording import format_difference, format_probability, format_share, format_whole_metric, plain

HOLM = "p-values are corrected by Holm's method over all groups of the field."


def scores_by_field(job: JobMaterial) -> Iterator[Figure]:
    """Yield a figure for each field by which the report is split."""
    for number, (field, groups) in enumerate((job.report.by or {}).items()):
        title = f"{job.label} by {shorten(field)}: {plain(job.metric)}"
        metrics = list(job.report.metrics) or [job.metric]
        rows = []
        for group in groups:
            score, items = group.scores.metrics.get(job.metric), group.scores.n
            value, (low, high) = (score.value, score.ci95) if score else (None, (None, None))
            rows.append(
                Estimate(
                    _name(group),
                    value,
                    low,
                    high,
                    "ours",
                    score.bounds if score else None,
                    _format_items(items, format_whole_metric(score)),
                )
            )
        lines = [
            [
                _name(group),
                f"{group.scores.n:,}",
                *(format_whole_metric(group.scores.metrics.get(metric)) for metric in metrics),
            ]
            for group in groups
        ]
        table = Table(title, [shorten(field), "items", *map(plain, metrics)], lines)
        yield Figure(draw_forest(f"by-{job.id}-{number}", title, rows), table)


def _name(group: FieldGroupScores) -> str:
    return name_group(group.kind, group.value, group.values)


def _format_items(items: int, text: str) -> str:
    return f"n = {items:,}: {text}" if text else f"n = {items:,}"


def differences_by_field(key: str, pair: PairComparison, metric: str) -> Iterator[Figure]:
    """Yield a figure for each field by which the comparison of two jobs is split."""
    for number, (field, groups) in enumerate((pair.by or {}).items()):
        title = f"{pair.b} − {pair.a} by {shorten(field)}, in points of {plain(metric)}"
        rows, lines, ends = [], [], []
        for group in groups:
            name, figures = name_group(group.kind, group.value, group.values), group.figures
            if figures is None:
                rows.append(Estimate(name, None, amount="no pairs"))
                lines.append([name, "0", *[""] * 4])
                continue
            text = format_difference(figures.difference, figures.ci95)
            rows.append(Estimate(name, figures.difference, *figures.ci95, amount=_format_items(figures.pairs, text)))
            ends += [abs(end) for end in (*figures.ci95, figures.difference)]
            scores = [format_share(mean.value) for mean in (figures.value_a, figures.value_b)]
            p = format_probability(figures.p if group.p_holm is None else group.p_holm)
            lines.append([name, f"{figures.pairs:,}", *scores, text, p])
        axis_end = min(round_up(max(ends, default=0.1)), 1.0)
        heads = [shorten(field), "pairs", pair.a, pair.b, "difference, points", "p, Holm"]
        table = Table(title, heads, lines, HOLM, ranks=(0, 1, 3, 2, 0, 0))
        yield Figure(draw_forest(f"{key}-by-{number}", title, rows, -axis_end, axis_end, "points"), table)
