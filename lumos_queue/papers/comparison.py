"""Compare the papers' tables with stored jobs: each published figure with our figure.

All jobs of a kind, and their endpoints, are read at once. Scores are read only for the displayed jobs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from db.engine.connection import Connection
from db.kinds.job_kinds import JobKind
from db.kinds.states import JobState
from db.queries.job_endpoints import endpoints_of_kind
from db.queries.jobs import jobs_of_kind
from db.queue.stored_jobs import StoredJob
from lumos_queue.benchmarks.registry import TESTABLE, open_benchmark_of
from lumos_queue.errors import unknown
from lumos_queue.papers.columns import COLUMNS
from lumos_queue.papers.figures import TABLE_5, TABLE_6
from lumos_queue.papers.interfaces import interfaces
from lumos_queue.papers.model import QUOTED, PaperColumn, PaperRow, PaperTable, number
from lumos_queue.papers.openagi_matching import PlannerFigures
from lumos_queue.papers.openagi_results import PLANNER_TABLES
from lumos_queue.papers.openagi_rows import planner_rows
from lumos_queue.papers.results import TABLES
from lumos_queue.papers.stored_evaluations import (
    StoredEvaluation,
    find_best,
    load_stored_evaluations,
    on_published_rows,
    other_judge,
    remark_on_unverified,
    weight_mismatches,
)
from lumos_queue.papers.table_values import EvaluationFigure, PaperTableRows, TableRow
from lumos_queue.papers.tool_matching import ToolJobs
from lumos_queue.papers.tool_results import TOOL_TABLES
from lumos_queue.papers.tool_rows import ToolFigures, tool_rows
from lumos_queue.papers.tuned_planners import TunedPlanners
from lumos_queue.papers.visual_rows import VISUAL, VISUAL_TITLE, visual_rows
from lumos_queue.papers.yields import conversions
from lumos_queue.reports.score_values import JobScores, Metric
from lumos_queue.reports.scores import job_scores
from lumos_queue.row_origins.origins import read_row_origins

LUMOS_KEYS = ("1a", "1b", "1c", "1d", "1e", "2", "3", "4", "5", "6", "7", "8", "p3")
TOOL_KEYS = (*TOOL_TABLES, VISUAL)
KEYS = (*LUMOS_KEYS, *TOOL_KEYS, *PLANNER_TABLES)
TITLES = {
    "4": "Conversion: rows of each source, and annotations left of them",
    "5": "Sources for extensions, and their rows",
    "6": "Seconds for 100 instances",
    "8": "Action interfaces",
    VISUAL: VISUAL_TITLE,
} | {key: table.title for key, table in (TOOL_TABLES | PLANNER_TABLES).items()}


@dataclass(slots=True)
class EvaluationScores:
    """The stored evaluations and their scores. The scores of a displayed job are read once."""

    connection: Connection | None
    evaluations: list[StoredEvaluation] = field(default_factory=list)
    _scores: dict[str, JobScores] = field(default_factory=dict)

    @classmethod
    def of(cls, connection: Connection | None) -> EvaluationScores:
        """Read the stored evaluations. `connection`: None if there is no database yet."""
        if connection is None:
            return cls(None)
        jobs = jobs_of_kind(connection, JobKind.EVALUATE)
        endpoints = endpoints_of_kind(connection, JobKind.EVALUATE)
        return cls(connection, load_stored_evaluations(jobs, endpoints, read_row_origins(connection, jobs)))

    def scores(self, job: StoredJob) -> JobScores:
        assert self.connection is not None
        if job.id not in self._scores:
            self._scores[job.id] = job_scores(self.connection, job, open_benchmark_of(job).metrics)
        return self._scores[job.id]


def papers_tables(connection: Connection | None, keys: Iterable[str]) -> list[PaperTableRows]:
    """Return the tables with these keys, with titles and rows. Raises SpecError for an unknown key."""
    keys = list(keys)
    for key in keys:
        if key not in KEYS:
            raise unknown("table of the papers", key, KEYS)
    evaluations = EvaluationScores.of(connection)
    has_tools = any(key in TOOL_TABLES for key in keys)
    tools = ToolFigures(connection, ToolJobs.of(connection if has_tools else None, evaluations.evaluations))
    has_plans = any(key in PLANNER_TABLES for key in keys)
    plans = PlannerFigures(
        connection, on_published_rows(evaluations.evaluations), TunedPlanners.of(connection if has_plans else None)
    )
    return [PaperTableRows(key, _title(key), _rows(key, evaluations, tools, plans)) for key in keys]


def _title(key: str) -> str:
    return TITLES.get(key) or TABLES[key].title


def _rows(key: str, evaluations: EvaluationScores, tools: ToolFigures, plans: PlannerFigures) -> list[TableRow]:
    if key in TOOL_TABLES:
        return tool_rows(TOOL_TABLES[key], tools)
    if key in PLANNER_TABLES:
        return planner_rows(PLANNER_TABLES[key], plans)
    match key:
        case "4":
            return conversions(evaluations.connection)
        case "5":
            status = "a candidate: converted neither by the papers nor here"
            return [_describe_published(name, f"{rows:,}", "[P]", status) for name, rows in TABLE_5.items()]
        case "6":
            return [_time(evaluations, *row, seconds) for row, seconds in TABLE_6.items()]
        case "8":
            return interfaces()
        case _ if key == VISUAL:
            return visual_rows(evaluations.connection, on_published_rows(evaluations.evaluations))
    return [figure for row in TABLES[key].rows for figure in result_rows(TABLES[key], row, evaluations)]


def _describe_published(name: str, figure: str, source: str, status: str) -> TableRow:
    return TableRow(row=name, column="", published=figure, source=source, status=status)


def result_rows(table: PaperTable, row: PaperRow, evaluations: EvaluationScores) -> list[TableRow]:
    """Return a row for each figure in a row of a table of results."""
    return [paper_figure(table, row, COLUMNS[key], evaluations) for key in table.columns if key in row.figures]


def paper_figure(table: PaperTable, row: PaperRow, column: PaperColumn, evaluations: EvaluationScores) -> TableRow:
    """Return a published figure with that of the best stored evaluation, or with what an evaluation would need."""
    figure = row.figures[column.key]
    fields = TableRow(
        row=row.name,
        handle=f"{table.key}/{row.handle}",
        benchmark=column.benchmark,
        metric=column.metric,
        column=column.label,
        published=figure,
        value=number(figure),
        trained_on="*" in figure,
        source=row.source,
        published_n=column.size,
        note="; ".join(filter(None, (row.note, column.note))),
    )
    if row.quoted:
        return replace(fields, note="", status=f"not run: {QUOTED}")
    if column.benchmark not in TESTABLE:
        return replace(fields, status=f"not run: no benchmark '{column.benchmark}' here")
    best = find_best(row, column, evaluations.evaluations)
    if best is None:
        remark = remark_on_unverified(row, column, evaluations.evaluations)
        return replace(fields, status="; ".join(filter(None, (f"not run: needs {row.needs(column)}", remark))))
    metric = evaluations.scores(best.job).metrics.get(column.metric)
    if metric is None:
        requirement = "a judge (--role judge=URL)" if column.metric == "llm_accuracy" else f"the metric {column.metric}"
        return replace(fields, status=f"not run: job {best.job.id} has no score by {requirement}")
    low, high = metric.ci95
    own_figure = EvaluationFigure(
        job=best.job.id,
        value=round(100 * metric.value, 2),
        ci95=(round(100 * low, 2), round(100 * high, 2)),
        n=best.size,
        of=metric.of,
        rows=best.rows.text,
        tools=best.tools,
        models=best.models,
    )
    return replace(fields, ours=own_figure, status=_status(row, column, best, metric))


def _status(row: PaperRow, column: PaperColumn, evaluation: StoredEvaluation, metric: Metric) -> str:
    remarks = []
    if metric.bounds:
        low, high = (100 * bound for bound in metric.bounds)
        remarks.append(f"incomplete: {low:.1f} to {high:.1f}")
    remarks += _differences(row, column, evaluation)
    if column.size and evaluation.size != column.size:
        remarks.append(f"n differs: {evaluation.size} of {column.size}")
    return "; ".join(remarks) or "run"


def _differences(row: PaperRow, column: PaperColumn, evaluation: StoredEvaluation) -> list[str]:
    """Return how an evaluation differs from the papers, as texts: weights and tools, the judge, settings, rows."""
    wrong, settings = weight_mismatches(row, evaluation.models), evaluation.departures(column)
    return [
        *([f"other weights: {'; '.join(wrong)}"] if wrong else []),
        *other_judge(column, evaluation.models),
        *([f"other settings: {'; '.join(settings)}"] if settings else []),
        *evaluation.remarks_on_rows,
    ]


def _time(
    evaluations: EvaluationScores, name: str, formulation: str, domain: str, benchmark: str, seconds: int
) -> TableRow:
    """Return a row of Table 6: the seconds of an evaluation from its first slice to its end, including pauses."""
    column = replace(COLUMNS[benchmark], judge="")
    row = PaperRow(name, {benchmark: str(seconds)}, formulation, domain)
    fields = TableRow(
        row=name,
        benchmark=benchmark,
        column=f"{column.label.split()[0]}, s",
        published=str(seconds),
        source="[P]",
        note="the papers: 2 × A6000, batches of 16",
    )
    timed_evaluations = [
        evaluation
        for evaluation in evaluations.evaluations
        if evaluation.job.started_at is not None and evaluation.job.finished_at is not None
    ]
    best = find_best(
        row, column, [evaluation for evaluation in timed_evaluations if evaluation.job.state == JobState.DONE]
    )
    if best is None:
        return replace(fields, status=f"not run: needs {row.needs(column)}")
    start, end = best.job.started_at, best.job.finished_at
    took = 100 * max(0.0, (end or 0.0) - (start or 0.0)) / best.job.items
    own_figure = EvaluationFigure(
        job=best.job.id,
        value=round(took, 2),
        n=best.size,
        rows=best.rows.text,
        tools=best.tools,
        models=best.models,
    )
    return replace(fields, ours=own_figure, status="; ".join(_differences(row, column, best)) or "run")
