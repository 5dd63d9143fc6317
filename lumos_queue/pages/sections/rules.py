"""The rates of judges' jobs by both rules of ToolEval, as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lumos_queue.pages.blocks import Table
from lumos_queue.pages.material import JobMaterial
from lumos_queue.reports.tool_rules import PASS, TIED, WIN, WON
from lumos_queue.util.wording import format_whole_metric, plain

NOTE = (
    "Both rules use the same stored votes. rule=tooleval counts as ToolEval's published code and takes the expectation "
    "where that code tosses coins; win counts ties 1/2."
)


def tabulate_rules(title: str, jobs: Sequence[JobMaterial]) -> Iterator[Table]:
    """Yield a table of the rates by rule, if a job has them."""
    rows = [
        [
            job.label,
            f"rule={name}",
            *(format_whole_metric(rates.figures.get(figure)) for figure in (PASS, WIN, WON, TIED)),
            f"{rates.lacking:,}" if rates.lacking else "",
        ]
        for job in jobs
        for name, rates in (job.report.rules or {}).items()
    ]
    if rows:
        heads = ["job", "rule", *map(plain, (PASS, WIN, WON, TIED)), "runs that lack votes"]
        yield Table(f"{title} by rule", heads, rows, NOTE, frozenset({0, 1}))
