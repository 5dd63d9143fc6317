"""Find the published figures to display beside jobs: figures of any agent on the same benchmark and split."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from db.engine.connection import Connection
from db.kinds.job_kinds import JobKind
from db.queries.job_endpoints import endpoints_of
from db.queue.stored_jobs import StoredJob
from lumos_queue.papers.columns import COLUMNS
from lumos_queue.papers.comparison import EvaluationScores, paper_figure
from lumos_queue.papers.openagi_matching import PlannerFigures
from lumos_queue.papers.openagi_protocol import BENCHMARK as OPENAGI
from lumos_queue.papers.openagi_results import PLANNER_TABLES
from lumos_queue.papers.openagi_rows import planner_rows
from lumos_queue.papers.results import TABLES
from lumos_queue.papers.stored_evaluations import load_stored_evaluations, on_published_rows
from lumos_queue.papers.table_values import EvaluationFigure, ExpertFigure, JudgedFigure, TableRow
from lumos_queue.papers.tool_matching import RUNS, VERDICTS, ToolJobs
from lumos_queue.papers.tool_results import TOOL_TABLES
from lumos_queue.papers.tool_rows import ToolFigures, tool_rows
from lumos_queue.papers.tuned_planners import TunedPlanners
from lumos_queue.row_origins.origins import RowOrigin, read_row_origins


@dataclass(frozen=True, slots=True)
class PublishedFigure:
    """A figure of a paper's table. The papers print no intervals."""

    table: str  #: the key of the table, or several keys
    row: str
    metric: str
    published: str  #: as printed
    value: float  #: on the scale of the job's scores, from 0 to 1
    n: str  #: the papers' number of tasks; '' where they do not state it
    status: str  #: the job that is a run of the row and its differences, or why there is none
    note: str


def list_published_figures(
    connection: Connection, jobs: Sequence[StoredJob]
) -> dict[tuple[str, str], list[PublishedFigure]]:
    """Return for each (benchmark, split) of these jobs the published figures, in the order of the tables.

    The list is empty if an evaluation of this benchmark and split is on other rows than the published rows.
    """
    evaluations = [job for job in jobs if job.kind == JobKind.EVALUATE]
    endpoints = [endpoint for job in evaluations for endpoint in endpoints_of(connection, job.id)]
    origins = read_row_origins(connection, evaluations)
    all_evaluations = EvaluationScores(connection, load_stored_evaluations(evaluations, endpoints, origins))
    other_rows = {(job.benchmark, job.split) for job in evaluations if not _may_stand_beside(origins.get(job.id), job)}
    figures: dict[tuple[str, str], list[PublishedFigure]] = {}
    for group in dict.fromkeys((job.benchmark, job.split) for job in evaluations):
        group_evaluations = EvaluationScores(
            connection,
            [
                evaluation
                for evaluation in all_evaluations.evaluations
                if (evaluation.job.benchmark, evaluation.job.split) == group
            ],
        )
        if group in other_rows:
            figures[group] = []
            continue
        rows = [*_results(group, group_evaluations), *_tools(group, all_evaluations), *_plans(group, group_evaluations)]
        figures[group] = _merge(_describe(table, row, scale) for table, row, scale in rows if row.value is not None)
    return figures


def _may_stand_beside(origin: RowOrigin | None, job: StoredJob) -> bool:
    """Whether figures may be displayed beside an evaluation. For a judge's job the judged runs decide it later."""
    return job.benchmark == VERDICTS or (origin is not None and origin.counts)


_Row = tuple[str, TableRow, float]  #: table, row, and the figure that corresponds to a score of 1


def _results(group: tuple[str, str], evaluations: EvaluationScores) -> Iterator[_Row]:
    for table in TABLES.values():
        for row in table.rows:
            for column in (COLUMNS[key] for key in table.columns if key in row.figures):
                if (column.benchmark, column.split) == group:
                    yield table.key, paper_figure(table, row, column, evaluations), 100.0


def _tools(group: tuple[str, str], evaluations: EvaluationScores) -> Iterator[_Row]:
    """Yield the figures of a subset of ToolBench's queries, or the published figures that a judge's job reproduces."""
    benchmark, split = group
    if benchmark not in (RUNS, VERDICTS):
        return
    figures = ToolFigures(evaluations.connection, ToolJobs.of(evaluations.connection, evaluations.evaluations))
    judge_jobs = {evaluation.job.id for evaluation in evaluations.evaluations if evaluation.job.benchmark == VERDICTS}
    for table in TOOL_TABLES.values():
        for row in tool_rows(table, figures):
            judge = row.ours.job if isinstance(row.ours, JudgedFigure) else ""
            if row.split == split if benchmark == RUNS else judge in judge_jobs:
                yield table.key, row, 100.0


def _plans(group: tuple[str, str], evaluations: EvaluationScores) -> Iterator[_Row]:
    if group[0] != OPENAGI:
        return
    figures = PlannerFigures(
        evaluations.connection, on_published_rows(evaluations.evaluations), TunedPlanners.of(evaluations.connection)
    )
    for table in PLANNER_TABLES.values():
        for row in planner_rows(table, figures):
            yield table.key, row, 1.0


def _describe(table: str, row: TableRow, scale: float) -> PublishedFigure:
    status = row.status
    if isinstance(row.ours, EvaluationFigure | JudgedFigure | ExpertFigure):
        status = f"{row.ours.job} is a run of it" + ("" if status == "run" else f", but {status}")
    value, metric, rows = (row.value or 0.0) / scale, row.metric or "", row.published_n or ""
    return PublishedFigure(table, row.row, metric, row.published, value, rows, status, row.note or "")


def _merge(figures: Iterator[PublishedFigure]) -> list[PublishedFigure]:
    """Return each figure once, with the keys of all tables that print it."""
    groups: dict[tuple[str, str, str], list[PublishedFigure]] = {}
    for figure in figures:
        groups.setdefault((figure.row, figure.metric, figure.published), []).append(figure)
    tables = [", ".join(dict.fromkeys(figure.table for figure in alike)) for alike in groups.values()]
    return [replace(alike[0], table=table) for table, alike in zip(tables, groups.values(), strict=True)]
