"""The rows of OpenAGI's tables: each published figure with our figure, or with what our figure would need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lumos_queue.benchmarks.openagi.splits import HELDOUT, tasks_of
from lumos_queue.papers.openagi_commands import describe_need, row_commands
from lumos_queue.papers.openagi_matching import Measurement, PlannerFigures, is_unfinished
from lumos_queue.papers.openagi_protocol import BENCHMARK, SAMPLES, list_departures, list_other_experts
from lumos_queue.papers.openagi_results import METRICS, OVERALL, PlannerRow, PlannerTable
from lumos_queue.papers.stored_evaluations import StoredEvaluation
from lumos_queue.papers.table_values import ExpertFigure, TableRow
from lumos_queue.reports.score_values import Metric, MissingOverall, OverallMean, OverallScore
from lumos_queue.scoring.media.paper import SCORES

_DISTANCE = "if the released code made this figure, it is a distance: the larger, the less alike"


def planner_rows(table: PlannerTable, figures: PlannerFigures) -> list[TableRow]:
    """Return a row for each figure of a table: the three metrics and their mean."""
    return [_figure(table, row, column, figures) for row in table.rows for column in row.figures]


def _figure(table: PlannerTable, row: PlannerRow, column: str, figures: PlannerFigures) -> TableRow:
    figure = row.figures[column]
    blank = TableRow(
        row=row.name,
        handle=f"{table.key}/{row.slug}",
        benchmark=BENCHMARK,
        split=column.lower(),
        metric=METRICS.get(column, OVERALL),
        column=column,
        published=figure,
        value=float(figure),
        source="[P]",
        published_n="",
        note=_DISTANCE if column in ("ViT", OVERALL) and float(figure) else "",
    )
    best = figures.find_best(row)
    if best is None:
        status = "; ".join(filter(None, (f"not run: {describe_need(row)}", figures.explain_exclusion(row))))
        return replace(blank, status=status, commands=row_commands(row))
    measurement = figures.measurement(best.job)
    overall = measurement.overall
    metric_names = tuple(METRICS.values()) if column == OVERALL else (METRICS[column],)
    if missing_names := [
        name
        for name in metric_names
        if name not in measurement.metrics or (isinstance(overall, MissingOverall) and name in overall.not_run)
    ]:
        status = f"not run: job {best.job.id} has no {', '.join(missing_names)}: needs their weights (docs/experts.md)"
        return replace(blank, status=status)
    metric: Metric | OverallMean
    if column == OVERALL:
        assert isinstance(overall, OverallScore)  # no metric is missing
        metric = overall.over_metrics
    else:
        metric = measurement.metrics[METRICS[column]]
    n = sum(sum(measurement.versions[name].values()) for name in metric_names)
    own_figure = ExpertFigure(
        value=metric.value,
        ci95=metric.ci95,
        n=f"{n:,}",
        digits=4,
        job=best.job.id,
        rows=best.rows.text,
        tools=best.tools,
        models=best.models,
    )
    return replace(blank, ours=own_figure, status=_status(row, best, measurement, metric_names, figures))


def _status(
    row: PlannerRow,
    evaluation: StoredEvaluation,
    measurement: Measurement,
    metric_names: Sequence[str],
    figures: PlannerFigures,
) -> str:
    remarks = []
    if any(measurement.metrics[name].bounds for name in metric_names) or is_unfinished(evaluation):
        remarks.append("incomplete")
    remarks += _list_other_tasks(evaluation, figures)
    remarks += figures.other_planner(row, evaluation)
    remarks += figures.list_training_remarks(row, evaluation)
    departures = list_departures(row, evaluation)
    if measurement.samples != SAMPLES:
        departures.append(f"samples is {measurement.samples}, not {SAMPLES}")
    remarks += [f"other settings: {'; '.join(departures)}"] if departures else []
    if experts := list_other_experts(evaluation):
        remarks.append(f"other experts: {', '.join(experts)}")
    if measurement.generated:
        remarks.append("other data: generated")
    other_versions = {
        version for name in metric_names for version in measurement.versions[name] if not _is_published(name, version)
    }
    if other_versions:
        remarks.append(f"other weights of scores: {', '.join(sorted(other_versions))}")
    remarks += evaluation.remarks_on_rows
    return "; ".join(remarks) or "run"


def _list_other_tasks(evaluation: StoredEvaluation, figures: PlannerFigures) -> list[str]:
    """Return a text if the evaluation has other tasks than the held-out split, or not all of them."""
    split, rows = evaluation.job.split, figures.task_rows(evaluation.job)
    if split != HELDOUT:
        return [f"other tasks: split is {split}, not {HELDOUT}"]
    count = len(tasks_of(HELDOUT))
    return [f"n differs: {len(rows)} of {count} tasks"] if len(rows) < count else []


def _is_published(metric: str, version: str) -> bool:
    """Whether a score's version names the weights that the released code used."""
    return version.partition("@")[0] == SCORES[metric].checkpoint
