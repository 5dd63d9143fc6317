"""The section Conversion: the accepted rows of conversions for each module, their checks, and verdicts on others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lumos_queue.pages.blocks import Block, Figure, Table
from lumos_queue.pages.charts.bars import Bar, BarPart, draw_bars
from lumos_queue.pages.limits import PageLimits
from lumos_queue.pages.material import JobMaterial, Material
from lumos_queue.records import MODULES
from lumos_queue.reports.conversion import BOTH, ConversionFigures
from lumos_queue.reports.conversion_filters import FilterVerdicts
from lumos_queue.util.wording import MISSING, format_average, format_count, format_rate, format_share, plain

MAX_VERDICTS = 8  #: filters of a conversion in its overview


def conversion(material: Material, limits: PageLimits) -> Iterator[Block]:
    jobs = [(job, job.report.conversion) for job in material.jobs if job.report.conversion]
    if not jobs:
        return
    heads = ["job", "source", "rows in", *(f"accepted for {name}" for name in (*MODULES, BOTH)), "turns", "rows/s"]
    yield Table(
        "Rows", heads, [[job.label, *_count_accepted(figures)] for job, figures in jobs], texts=frozenset({0, 1})
    )
    levels = [(job, figures) for job, figures in jobs if figures.levels]
    if levels:
        rows = [
            [job.label, plain(level), format_count(count, figures.rows_in), *_count_stronger(figures, level)]
            for job, figures in levels
            for level, count in figures.levels.items()
        ]
        note = "Rows accepted for both modules by how they were checked, the strongest first, of the rows in."
        heads = ["job", "level", "rows", "this level or stronger", "of accepted rows"]
        yield Table("Checks", heads, rows, note, frozenset({0, 1}))
    for number, (job, figures) in enumerate(jobs):
        if len(figures.verdicts) > MAX_VERDICTS:
            verdicts = figures.verdicts[: max(MAX_VERDICTS, limits.rows // (2 * len(jobs)))]
            yield draw_verdicts(f"verdicts-{number}", job, verdicts)


def tabulate_outcomes(job: str, figures: ConversionFigures) -> Iterator[Table]:
    """Yield a table of the rows of a conversion by outcome, check level and rule, if it has any."""
    if not (outcomes := figures.outcomes):
        return
    totals = ", ".join(f"{rows:,} {outcome}" for outcome, rows in figures.outcome_totals.items())
    rows = [
        [
            group.outcome,
            group.level or MISSING,
            ", ".join(filter(None, (group.rule, group.note))),
            f"{group.rows:,}",
        ]
        for group in outcomes
    ]
    heads = ["outcome", "check level", "rule", "rows"]
    yield Table(f"Rows of {figures.source} ({job}): {totals}", heads, rows, texts=frozenset({0, 1, 2}))


def _count_accepted(figures: ConversionFigures) -> list[str]:
    cells = [format_count(figures.accepted[name], figures.rows_in) for name in (*MODULES, BOTH)]
    turns, speed = figures.average_turns, figures.rows_per_second
    cells += ["" if turns is None else format_average(turns), "" if speed is None else format_rate(speed)]
    return [figures.source, f"{figures.rows_in:,}", *cells]


def _count_stronger(figures: ConversionFigures, level: str) -> list[str]:
    """Return the count of rows with this level or a stronger one, of the rows in, and its share of accepted rows."""
    counts = figures.at_least[level]
    return [format_count(counts.rows, figures.rows_in), format_share(counts.of_accepted)]


def draw_verdicts(key: str, job: JobMaterial, verdicts: Sequence[FilterVerdicts]) -> Figure:
    bars, rows = [], []
    for verdict in verdicts:
        colour = "wrong" if verdict.rejects else "c6"
        parts = [BarPart(name, verdict.rows[name], f"{verdict.rows[name]:,}", colour) for name in MODULES]
        largest = max(parts, key=lambda part: part.value)
        bars.append(Bar(verdict.name, [largest], f"{largest.value:,}"))
        kind = "rejects" if verdict.rejects else "notes"
        rows.append([verdict.name, kind, *(part.amount for part in parts), verdict.meaning])
    title = f"What filters found in {job.label}, for the module with more rows"
    heads = ["filter", "", *(f"rows of {name}" for name in MODULES), "meaning"]
    legend = [("bar wrong", "rejects"), ("bar c6", "notes")]
    return Figure(draw_bars(key, title, bars), Table(title, heads, rows, texts=frozenset({0, 1, 4})), legend)
