"""The section Conversion: the accepted rows of conversions for each module, their checks, and verdicts on others."""

from __future__ import annotations

from collections.abc import Iterator

from db.kinds.job_kinds import JobKind
from lumos_queue.pages.blocks import Block, Figure, Table, Text
from lumos_queue.pages.charts.bars import Bar, BarPart, draw_bars
from lumos_queue.pages.limits import PageLimits
from lumos_queue.pages.material import JobMaterial, Material
from lumos_queue.records import MODULES
from lumos_queue.util.wording import MISSING, format_average, format_count, format_rate, format_share, plain


def conversion(material: Material, limits: PageLimits) -> Iterator[Block]:
    jobs = [job for job in material.jobs if job.row.kind == JobKind.CONVERT]
    if not jobs:
        return
    heads = ["job", "source", "rows in", *(f"accepted for {name}" for name in (*MODULES, "both")), "turns", "rows/s"]
    yield Table("Rows", heads, [_count_accepted(job) for job in jobs], texts=frozenset({0, 1}))
    levels = [job for job in jobs if job.report["levels"]]
    if levels:
        rows = [
            [job.label, plain(level), format_count(count, job.report["rows_in"]), *_count_stronger(job, level)]
            for job in levels
            for level, count in job.report["levels"].items()
        ]
        note = "Rows accepted for both modules by how they were checked, the strongest first, of the rows in."
        heads = ["job", "level", "rows", "this level or stronger", "of accepted rows"]
        yield Table("Checks", heads, rows, note, frozenset({0, 1}))
    for number, job in enumerate(jobs):
        if verdicts := job.report["verdicts"][: max(5, limits.rows // (2 * len(jobs)))]:
            yield draw_verdicts(f"verdicts-{number}", job, verdicts)
        yield from tabulate_outcomes(job)
        yield from (Text(f"{job.id}: {remark}") for remark in job.report["remarks"])


def tabulate_outcomes(job: JobMaterial) -> Iterator[Table]:
    """Yield a table of the rows of a conversion by outcome, check level and rule, if it has any."""
    if not (outcomes := job.report["outcomes"]):
        return
    totals = ", ".join(f"{rows:,} {outcome}" for outcome, rows in job.report["outcome_totals"].items())
    rows = [
        [
            group["outcome"],
            group["level"] or MISSING,
            ", ".join(filter(None, (group["rule"], group["note"]))),
            f"{group['rows']:,}",
        ]
        for group in outcomes
    ]
    heads = ["outcome", "check level", "rule", "rows"]
    yield Table(f"Rows of {job.report['source']} ({job.id}): {totals}", heads, rows, texts=frozenset({0, 1, 2}))


def _count_accepted(job: JobMaterial) -> list[str]:
    report = job.report
    cells = [format_count(report["accepted"][name], report["rows_in"]) for name in (*MODULES, "both")]
    turns, speed = report["average_turns"], report["rows_per_second"]
    cells += ["" if turns is None else format_average(turns), "" if speed is None else format_rate(speed)]
    return [job.label, report["source"], f"{report['rows_in']:,}", *cells]


def _count_stronger(job: JobMaterial, level: str) -> list[str]:
    """Return the count of rows with this level or a stronger one, of the rows in, and its share of accepted rows."""
    counts = job.report["at_least"][level]
    return [format_count(counts["rows"], job.report["rows_in"]), format_share(counts["of_accepted"])]


def draw_verdicts(key: str, job: JobMaterial, verdicts: list[dict]) -> Figure:
    bars, rows = [], []
    for verdict in verdicts:
        colour = "wrong" if verdict["rejects"] else "c6"
        parts = [BarPart(name, verdict[name], f"{verdict[name]:,}", colour) for name in MODULES]
        largest = max(parts, key=lambda part: part.value)
        bars.append(Bar(verdict["name"], [largest], f"{largest.value:,}"))
        kind = "rejects" if verdict["rejects"] else "notes"
        rows.append([verdict["name"], kind, *(part.amount for part in parts), verdict["meaning"]])
    title = f"What filters found in {job.label}, for the module with more rows"
    heads = ["filter", "", *(f"rows of {name}" for name in MODULES), "meaning"]
    legend = [("bar wrong", "rejects"), ("bar c6", "notes")]
    return Figure(draw_bars(key, title, bars), Table(title, heads, rows, texts=frozenset({0, 1, 4})), legend)
