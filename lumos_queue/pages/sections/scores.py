"""Scores: a forest plot of jobs, the papers' rows and rules without a model; all metrics; scores by group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from lumos_queue.pages.blocks import Block, Figure, Table, Text
from lumos_queue.pages.charts.forest import Estimate, draw_forest
from lumos_queue.pages.material import JobMaterial, Material
from lumos_queue.pages.sections.fields import scores_by_field
from lumos_queue.pages.wording import plain, tell_interval, tell_metric, tell_share, tell_whole_metric
from lumos_queue.papers.published_figures import PublishedFigure
from lumos_queue.reports.task_choice import remark_on_chosen
from lumos_queue.row_origins.origins import STATED_REMARK, RowState

LEGEND = (("mark ours", "these jobs"), ("mark paper", "published"), ("mark baseline", "rules without a model"))
HOW = (
    "A score is the mean over all items. Endings that the model caused count as wrong; failures of infrastructure are "
    "owed again, and while any item has no result, the range that the score can still reach is drawn instead of it. "
    "Intervals are Wilson's at 95 %, widened where samples of a task or steps of an episode are not independent."
)

PUBLISHED = (
    "Published figures are as printed: * trained on that benchmark's training set, ≈ read off a chart. Papers print "
    "no intervals."
)


def scores(material: Material) -> Iterator[Block]:
    """The blocks of all groups of jobs that are scored."""
    groups = [(group, jobs) for group, jobs in material.groups() if any(job.metric for job in jobs)]
    if groups:
        yield Text(HOW)
    for number, ((kind, benchmark, split), jobs) in enumerate(groups):
        scored = [job for job in jobs if job.metric]
        published = material.published.get((benchmark, split), ()) if kind == "evaluate" else ()
        for place, metric in enumerate(_drawn_metrics(scored, published)):
            beside = [one for one in published if one.metric == metric]
            rules = scored[0].report.get("baselines", {}) if metric == scored[0].metric else {}
            title = f"{kind} {benchmark} ({split}): {plain(metric)}"
            yield _plot(f"scores-{number}-{place}", title, metric, scored, beside, rules)
        if kind == "evaluate" and not published:
            yield Text(_tell_no_figure(scored, f"{benchmark} ({split})"))
        if len({name for job in scored for name in job.report.get("metrics", {})}) > 1:
            yield _metrics(f"All metrics of {kind} {benchmark} ({split})", scored)
        yield from (table for job in scored for table in _groups(job))
        yield from (block for job in scored for block in scores_by_field(job))


def _tell_no_figure(jobs: Sequence[JobMaterial], what: str) -> str:
    """Why no published figure stands beside these jobs."""
    others = [job.id for job in jobs if job.report.get("row_origin", {}).get("state") == RowState.UNVERIFIED]
    if not others:
        return f"The papers print no figure for {what}."
    return (
        f"No published figure is shown for {what}: the rows of {', '.join(others)} are not verified "
        "(docs/benchmarks.md, Verified rows)."
    )


def _drawn_metrics(jobs: Sequence[JobMaterial], published: Sequence[PublishedFigure]) -> list[str]:
    """The main metric, and those that papers print and a job has."""
    known = {name for job in jobs for name in job.report.get("metrics", {})}
    return list(
        dict.fromkeys([*(job.metric for job in jobs), *(one.metric for one in published if one.metric in known)])
    )


def _plot(
    key: str,
    title: str,
    metric: str,
    jobs: Sequence[JobMaterial],
    published: Sequence[PublishedFigure],
    baselines: dict[str, Any],
) -> Figure:
    rows, lines = [], []
    for job in jobs:
        if found := job.report.get("metrics", {}).get(metric) or (_as_metric(job) if metric == job.metric else None):
            low, high = found["ci95"]
            bounds = (found["bounds"][0], found["bounds"][1]) if "bounds" in found else None
            rows.append(Estimate(job.label, found["value"], low, high, "ours", bounds, tell_whole_metric(found)))
            remarks = [remark_on_chosen(job.row.parent, job.row.chosen, job.row.benchmark)]
            if job.report.get("row_origin", {}).get("state") == RowState.STATED:
                remarks.append(STATED_REMARK)
            told = "; ".join(filter(None, remarks))
            lines.append([job.label, tell_metric(found), tell_interval(low, high), f"{found['of']:,}", told])
    for one in published:
        label = f"{one.row}, table {one.table}"
        rows.append(Estimate(label, one.value, kind="paper", amount=one.published))
        told = f"{one.status}; {one.note}" if one.note else one.status
        lines.append([label, one.published, "not published", one.n, told])
    for name, found in baselines.items():
        low, high = found["ci95"]
        told = f"rule: {plain(name)}"
        rows.append(Estimate(told, found["value"], low, high, "baseline", None, tell_whole_metric(found)))
        lines.append([told, tell_share(found["value"]), tell_interval(low, high), "", "no model; on the same tasks"])
    note = PUBLISHED if published else ""
    table = Table(title, ["", "value", "95 % interval", "n", "remark"], lines, note, frozenset({0, 4}))
    kinds = {row.kind for row in rows}
    shown = [(name, told) for name, told in LEGEND if name.split()[1] in kinds]
    shown += [("bounds", "what a score can still become")] if any(row.bounds for row in rows) else []
    return Figure(draw_forest(key, title, rows), table, shown)


def _as_metric(job: JobMaterial) -> dict[str, Any]:
    """The main metric of a job of which nothing is scored yet."""
    report = job.report
    found = {"value": report["value"], "ci95": report["ci95"], "of": report["n"]}
    return found | ({"bounds": report["bounds"]} if "bounds" in report else {})


def _metrics(title: str, jobs: Sequence[JobMaterial]) -> Table:
    names = list(dict.fromkeys(name for job in jobs for name in job.report.get("metrics", {})))
    rows = [[job.label, *(tell_whole_metric(job.report["metrics"].get(name)) for name in names)] for job in jobs]
    return Table(title, ["job", *map(plain, names)], rows)


def _groups(job: JobMaterial) -> Iterator[Table]:
    """The scores of a job by what its tasks have in common, where its benchmark groups them."""
    for by, groups in job.report.get("groups", {}).items():
        names = list(dict.fromkeys(name for one in groups.values() for name in one["metrics"]))
        rows = [
            [group, f"{one['n']:,}", *(tell_whole_metric(one["metrics"].get(name)) for name in names)]
            for group, one in groups.items()
        ]
        yield Table(f"{job.label} by {plain(by)}", [plain(by), "items", *map(plain, names)], rows, folded=True)
    for name, found in job.report.get("overall", {}).items():
        if "not_run" in found:
            continue
        rows = [
            [plain(over), f"{found[over]['n']:,}", tell_whole_metric(found[over])]
            for over in ("over_metrics", "over_tasks")
        ]
        yield Table(f"{job.label}: overall ({plain(name)})", ["mean", "n", "score"], rows)
