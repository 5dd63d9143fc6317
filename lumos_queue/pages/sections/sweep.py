"""The table of a sweep: the mean score of the seeds with its interval over tasks, and the score of each seed."""

from __future__ import annotations

from collections.abc import Iterator

from lumos_queue.pages.blocks import Block, Table, Text
from lumos_queue.reports.seeds import CombinedScore
from lumos_queue.sweeps.report import BestRule, SweepReport
from lumos_queue.util.wording import MISSING, format_interval, format_share


def sweep(report: SweepReport) -> Iterator[Block]:
    """Yield the blocks of a sweep."""
    benchmarks = report.benchmarks
    rows = [
        [
            row.label,
            MISSING if row.tokens is None else f"{row.tokens:,}",
            *(_format_score(row.scores.get(name)) for name in benchmarks),
        ]
        for row in report.rows
    ]
    rows.append(["best rule without a model", "", *(_format_rule(figures.rule) for figures in benchmarks.values())])
    yield Table(report.title, ["trained on", "tokens of a fit", *benchmarks], rows)
    yield from map(Text, report.remarks)


def _format_score(score: CombinedScore | None) -> str:
    if score is None:
        return "not run"
    lines = [f"{format_share(score.value)} {format_interval(*score.ci95)}"]
    if not score.complete:
        lines.append(f"incomplete: {score.judged:,} of {score.of:,} judged")
    if len(score.by_seed) > 1:
        lines.append("seeds: " + ", ".join(map(format_share, score.by_seed.values())))
    return "\n".join(lines)


def _format_rule(rule: BestRule | None) -> str:
    return f"{format_share(rule.score.value)} ({rule.name})" if rule else MISSING
