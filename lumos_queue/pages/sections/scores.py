"""The section Scores: forest plots of jobs, published figures, and rules without a model; all metrics; groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from db.kinds.job_kinds import JobKind
from lumos_queue.pages.blocks import Block, Figure, Table, Text
from lumos_queue.pages.charts.forest import Estimate, draw_forest
from lumos_queue.pages.material import JobMaterial, Material
from lumos_queue.pages.sections.rules import tabulate_rules
from lumos_queue.reports.job_report import JobReport
from lumos_queue.reports.score_values import Mean, Metric, MissingOverall, Overall, OverallScore, SetScores
from lumos_queue.reports.task_choice import remark_on_choice
from lumos_queue.reports.tool_rules import label_metric
from lumos_queue.row_origins.origins import STATED_REMARK, RowState
from lumos_queue.util.wording import (
    format_distance,
    format_interval,
    format_metric,
    format_share,
    format_whole_metric,
    plain,
)

if TYPE_CHECKING:
    from lumos_queue.papers.published_figures import PublishedFigure

LEGEND = (("mark ours", "these jobs"), ("mark paper", "published"), ("mark baseline", "rules without a model"))
HOW = (
    "A score is the mean over all items. Endings that the model caused count as wrong. Failures of infrastructure will "
    "be retried; while an item has no result, the range that the score can still reach is drawn instead of the score. "
    "Intervals are Wilson's at 95 %, widened where samples of a task or steps of an episode are not independent."
)

PUBLISHED = (
    "Published figures are as printed: * trained on that benchmark's training set, ≈ read off a chart. Papers print "
    "no intervals."
)


def scores(material: Material) -> Iterator[Block]:
    """Yield the blocks of all groups of jobs with scores."""
    groups = [(group, jobs) for group, jobs in material.groups() if any(job.metric for job in jobs)]
    if groups:
        yield Text(HOW)
    for number, ((kind, benchmark, split), jobs) in enumerate(groups):
        scored_jobs = [job for job in jobs if job.metric]
        paper_figures = material.published.get((benchmark, split), ()) if kind == JobKind.EVALUATE else ()
        for index, metric in enumerate(_list_metrics(scored_jobs, paper_figures)):
            metric_figures = [figure for figure in paper_figures if figure.metric == metric]
            rules = (scored_jobs[0].report.baselines or {}) if metric == scored_jobs[0].metric else {}
            title = f"{kind} {benchmark} ({split}): {plain(metric)}"
            yield _plot(f"scores-{number}-{index}", title, metric, scored_jobs, metric_figures, rules)
        if kind == JobKind.EVALUATE and not paper_figures:
            yield Text(_explain_no_figure(scored_jobs, f"{benchmark} ({split})"))
        if len({name for job in scored_jobs for name in job.report.metrics}) > 1:
            yield _metrics(f"All metrics of {kind} {benchmark} ({split})", scored_jobs)
        yield from _trials(f"Trials of {kind} {benchmark} ({split})", scored_jobs)
        yield from tabulate_rules(f"{kind} {benchmark} ({split})", scored_jobs)
        for job in scored_jobs:
            yield from tabulate_groups(job.report, job.label)


def _explain_no_figure(jobs: Sequence[JobMaterial], subject: str) -> str:
    """Return the reason why no published figure is displayed beside these jobs."""
    unverified_jobs = [job.id for job in jobs if _row_state(job) == RowState.UNVERIFIED]
    if not unverified_jobs:
        return f"The papers print no figure for {subject}."
    return (
        f"No published figure is shown for {subject}: the rows of {', '.join(unverified_jobs)} are not verified "
        "(docs/benchmarks.md, Verified rows)."
    )


def _row_state(job: JobMaterial) -> str:
    return job.report.row_origin.state if job.report.row_origin else ""


def _list_metrics(jobs: Sequence[JobMaterial], paper_figures: Sequence[PublishedFigure]) -> list[str]:
    """Return the names of the metrics to draw: the main metrics, and metrics of published figures that a job has."""
    metric_names = {name for job in jobs for name in job.report.metrics}
    return list(
        dict.fromkeys(
            [
                *(job.metric for job in jobs),
                *(figure.metric for figure in paper_figures if figure.metric in metric_names),
            ]
        )
    )


def _plot(
    key: str,
    title: str,
    metric: str,
    jobs: Sequence[JobMaterial],
    paper_figures: Sequence[PublishedFigure],
    baselines: Mapping[str, Mean],
) -> Figure:
    rows, lines = [], []
    for job in jobs:
        if score := job.report.metrics.get(metric) or (find_main_metric(job) if metric == job.metric else None):
            low, high = score.ci95
            rows.append(Estimate(job.label, score.value, low, high, "ours", score.bounds, format_whole_metric(score)))
            remarks = [remark_on_choice(job.row.parent, job.row.chosen, job.row.benchmark)]
            if _row_state(job) == RowState.STATED:
                remarks.append(STATED_REMARK)
            text = "; ".join(filter(None, remarks))
            lines.append([job.label, format_metric(score), format_interval(low, high), f"{score.of:,}", text])
    for figure in paper_figures:
        label = f"{figure.row}, table {figure.table}"
        rows.append(Estimate(label, figure.value, kind="paper", amount=figure.published))
        text = f"{figure.status}; {figure.note}" if figure.note else figure.status
        lines.append([label, figure.published, "not published", figure.n, text])
    for name, mean in baselines.items():
        text, (low, high) = f"rule: {plain(name)}", mean.ci95
        value, interval = format_share(mean.value), format_interval(low, high)
        rows.append(Estimate(text, mean.value, low, high, "baseline", None, f"{value} {interval}"))
        lines.append([text, value, interval, "", "no model; on the same tasks"])
    note = PUBLISHED if paper_figures else ""
    table = Table(title, ["", "value", "95 % interval", "n", "remark"], lines, note, frozenset({0, 4}))
    kinds = {row.kind for row in rows}
    legend = [(name, label) for name, label in LEGEND if name.split()[1] in kinds]
    legend += [("bounds", "what a score can still become")] if any(row.bounds for row in rows) else []
    return Figure(draw_forest(key, title, rows), table, legend)


def find_main_metric(job: JobMaterial) -> Metric | None:
    """Return the main metric of a job, also if no item has a score of it; None for a job without scores."""
    if (scores := job.report.scores) is None:
        return None
    return scores.metrics.get(scores.metric) or Metric(scores.value, scores.ci95, job.report.n, scores.bounds)


def _metrics(title: str, jobs: Sequence[JobMaterial]) -> Table:
    names = list(dict.fromkeys(name for job in jobs for name in job.report.metrics))
    rows = [[job.label, *(format_whole_metric(job.report.metrics.get(name)) for name in names)] for job in jobs]
    return Table(title, ["job", *(label_metric(name, bool(jobs[0].report.rules)) for name in names)], rows)


def _trials(title: str, jobs: Sequence[JobMaterial]) -> Iterator[Table]:
    """Yield a table of the metrics whose mean is not over items: trials, and the scores of sets of samples."""
    rows = [
        [job.label, label_metric(name, bool(job.report.rules)), f"{metric.of:,}", *_format_sets(metric.sets)]
        for job in jobs
        for name, metric in job.report.metrics.items()
        if metric.of != job.report.n or metric.sets
    ]
    if rows:
        heads = ["job", "metric", "trials", "scores of the sample sets", "their standard deviation"]
        yield Table(title, heads, rows, texts=frozenset({0, 1, 3}), ranks=(0, 0, 0, 1, 2))


def _format_sets(sets: SetScores | None) -> list[str]:
    if sets is None:
        return ["", ""]
    spread = "" if sets.spread is None else format_distance(sets.spread)
    return [", ".join(map(format_share, sets.means)), spread]


def tabulate_groups(report: JobReport, label: str) -> Iterator[Table]:
    """Yield tables of a job's scores by the groups of its benchmark."""
    for by, groups in (report.groups or {}).items():
        names = list(dict.fromkeys(name for figures in groups.values() for name in figures.metrics))
        overalls = [name for name, means in (report.overall or {}).items() if isinstance(means, OverallScore)]
        rows = [
            [
                group,
                f"{figures.n:,}",
                *(format_whole_metric(figures.metrics.get(name)) for name in names),
                *(_format_over_tasks((figures.overall or {}).get(name)) for name in overalls),
            ]
            for group, figures in groups.items()
        ]
        heads = [plain(by), "items", *map(plain, names), *map(plain, overalls)]
        yield Table(f"{label} by {plain(by)}", heads, rows, folded=True)


def _format_over_tasks(overall: Overall | None) -> str:
    return format_whole_metric(overall.over_tasks) if isinstance(overall, OverallScore) else ""


def tabulate_overalls(report: JobReport, label: str) -> Iterator[Block]:
    """Yield a table of the overall scores of a job, and a sentence on each that lacks a metric."""
    rows = []
    for name, means in (report.overall or {}).items():
        if isinstance(means, MissingOverall):
            missing = ", ".join(map(plain, means.not_run))
            yield Text(f"{label}: the overall score '{plain(name)}' was not computed: nothing was judged by {missing}")
            continue
        over_metrics, over_tasks = means.over_metrics, means.over_tasks
        rows.append(
            [
                plain(name),
                format_whole_metric(over_metrics),
                f"{over_metrics.n:,}",
                format_whole_metric(over_tasks),
                f"{over_tasks.n:,}",
            ]
        )
    if rows:
        heads = ["overall score", "mean over metrics", "metrics", "mean over tasks", "items"]
        yield Table(f"{label}: overall scores", heads, rows, ranks=(0, 0, 2, 0, 1))
