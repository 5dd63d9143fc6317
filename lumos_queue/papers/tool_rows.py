"""The rows of the tables of tool agents: each published figure with ours and its costs, or what ours needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add

from db.engine.connection import Connection
from db.queries.tool_figures import costs, tool_calls
from db.queue.stored_jobs import StoredJob
from lumos_queue.papers.judgements import Judgements, read_judgements
from lumos_queue.papers.model import number
from lumos_queue.papers.table_values import JudgedFigure, PassCosts, TableRow
from lumos_queue.papers.tool_commands import needs
from lumos_queue.papers.tool_matching import RUNS, JudgedEvaluation, ToolEvaluation, ToolJobs
from lumos_queue.papers.tool_results import MEAN, SUBSETS, ToolRow, ToolTable
from lumos_queue.records import Role
from lumos_queue.reports.provenance import NONE
from lumos_queue.reports.score_values import Metric, Range
from lumos_queue.scoring.statistics import compute_weighted_interval


@dataclass(slots=True)
class ToolFigures:
    """The stored jobs of tool agents. The scores and the calls of each displayed job are read once."""

    connection: Connection | None
    jobs: ToolJobs
    _judgements: dict[str, Judgements] = field(default_factory=dict)
    _calls: dict[str, list[tuple[str, str, int]]] = field(default_factory=dict)

    def judgements(self, job: StoredJob) -> Judgements:
        assert self.connection is not None
        if job.id not in self._judgements:
            self._judgements[job.id] = read_judgements(self.connection, job)
        return self._judgements[job.id]

    def calls(self, job: StoredJob) -> list[tuple[str, str, int]]:
        assert self.connection is not None
        if job.id not in self._calls:
            self._calls[job.id] = tool_calls(self.connection, job.id)
        return self._calls[job.id]

    def sum_costs(self, evaluation: JudgedEvaluation, metric: str) -> PassCosts:
        """Return the total usage of all runs of the evaluation, and how many runs passed (a tie counts 1/2)."""
        assert self.connection is not None
        usage = costs(self.connection, evaluation.evaluation.job.id, evaluation.evaluation.formulation.roles)
        pass_count = sum(value for _, value in self.judgements(evaluation.judge.job).values.get(metric, ()))
        return PassCosts(pass_count, usage.model_calls, usage.tokens, usage.tool_calls)


def tool_rows(table: ToolTable, figures: ToolFigures) -> list[TableRow]:
    """Return a row for each figure of a table: the six subsets and their mean."""
    return [figure for row in table.rows for figure in _method_rows(table, row, figures)]


def _method_rows(table: ToolTable, row: ToolRow, figures: ToolFigures) -> list[TableRow]:
    evaluations = {subset: figures.jobs.find_judged(table, row, subset) for subset in SUBSETS}
    subset_rows = [_figure(table, row, subset, evaluation, figures) for subset, evaluation in evaluations.items()]
    return [
        *subset_rows,
        _mean(
            table,
            row,
            subset_rows,
            [evaluation for evaluation in evaluations.values() if evaluation is not None],
            figures,
        ),
    ]


def _blank(table: ToolTable, row: ToolRow, column: str) -> TableRow:
    figure = row.figures[column]
    return TableRow(
        row=row.name,
        handle=f"{table.key}/{row.slug}",
        benchmark=RUNS,
        split=column,
        metric=table.metric,
        column=column,
        published=figure,
        value=number(figure),
        source=table.source,
        published_n=f"{table.queries[column]:,}" if column in table.queries else "",
        note=table.note,
    )


def _figure(
    table: ToolTable, row: ToolRow, subset: str, evaluation: JudgedEvaluation | None, figures: ToolFigures
) -> TableRow:
    blank = _blank(table, row, subset)
    judgements = None if evaluation is None else figures.judgements(evaluation.judge.job)
    metric = None if judgements is None else judgements.metrics.get(table.metric)
    if evaluation is None or judgements is None or metric is None:
        status, commands = needs(table, row, subset, figures.jobs)
        return replace(blank, status=f"not run: {status}", commands=commands)
    run, judge = evaluation.evaluation, evaluation.judge
    against = evaluation.against.job.id if row.against is not None and evaluation.against is not None else None
    own_figure = JudgedFigure(
        value=round(100 * metric.value, 2),
        ci95=_in_per_cent(*metric.ci95),
        n=run.stored.size,
        of=metric.of,
        rows=run.stored.rows.text,
        job=judge.job.id,
        runs=run.job.id,
        tools=run.tools,
        models={**run.stored.models, Role.JUDGE: judge.models.get(Role.JUDGE, "")},
        rule=judgements.rules.get(table.metric) or None,
        against=against,
        spent=figures.sum_costs(evaluation, table.metric) if against is None and metric.bounds is None else None,
    )
    return replace(blank, ours=own_figure, status=_status(table, row, evaluation, metric, figures))


def _in_per_cent(low: float, high: float) -> Range:
    return round(100 * low, 2), round(100 * high, 2)


def _status(table: ToolTable, row: ToolRow, evaluation: JudgedEvaluation, metric: Metric, figures: ToolFigures) -> str:
    remarks = []
    if metric.bounds:
        low, high = (100 * bound for bound in metric.bounds)
        remarks.append(f"incomplete: {low:.1f} to {high:.1f}")
    remarks += _departures(table, row, evaluation, figures)
    if evaluation.evaluation.other_size(table):
        remarks.append(
            f"n differs: {evaluation.evaluation.stored.size} of {table.queries[evaluation.evaluation.job.split]:,}"
        )
    return "; ".join(remarks) or "run"


def _departures(table: ToolTable, row: ToolRow, evaluation: JudgedEvaluation, figures: ToolFigures) -> list[str]:
    """Return how an evaluation differs from the published one, as texts: weights, judge, settings, answers, rows."""
    sides = [("", evaluation.evaluation, row.method)]
    if row.against is not None and evaluation.against is not None:
        sides.append(("against: ", evaluation.against, row.against))
    weights = [f"{who}{line}" for who, side, _ in sides for line in side.other_models(table)]
    settings = [f"{who}{line}" for who, side, method in sides for line in side.departures(method)]
    settings += evaluation.departures(table)
    answers = [f"{who}{line}" for who, side, _ in sides for line in _other_answers(table, side, figures)]
    rows = dict.fromkeys(remark for _, side, _ in sides for remark in side.stored.remarks_on_rows)
    return [
        *([f"other weights: {'; '.join(weights)}"] if weights else []),
        *evaluation.other_judge(table),
        *([f"other settings: {'; '.join(settings)}"] if settings else []),
        *([remark] if (remark := figures.judgements(evaluation.judge.job).remarks.get(table.metric)) else []),
        *([f"other answers: {'; '.join(answers)}"] if answers else []),
        *rows,
    ]


def _other_answers(table: ToolTable, run: ToolEvaluation, figures: ToolFigures) -> list[str]:
    """Return texts with the numbers of calls whose answers have another origin than the published measurement's."""
    calls = figures.calls(run.job)
    total = sum(count for _, _, count in calls)
    by_provenance: dict[str, int] = {}
    for provenance, status, count in calls:
        name = provenance or (status if status == "not_recorded" else NONE)
        if name not in (*table.answers, NONE):
            by_provenance[name] = by_provenance.get(name, 0) + count
    return [f"{count:,} of {total:,} {name.replace('_', ' ')}" for name, count in by_provenance.items()]


def _mean(
    table: ToolTable,
    row: ToolRow,
    subset_rows: Sequence[TableRow],
    evaluations: Sequence[JudgedEvaluation],
    figures: ToolFigures,
) -> TableRow:
    """Return a row with the unweighted mean of the six subsets, if all are stored, complete, and by the same models."""
    blank = _blank(table, row, MEAN)
    own_figures = [subset_row.ours for subset_row in subset_rows if isinstance(subset_row.ours, JudgedFigure)]
    missing_subsets = [
        subset_row.column
        for subset_row in subset_rows
        if subset_row.ours is None or subset_row.status.startswith("incomplete")
    ]
    if missing_subsets:
        names = f": {', '.join(missing_subsets)}" if len(missing_subsets) < len(SUBSETS) else ""
        return replace(blank, status=f"not run: needs all six subsets, complete{names}")
    if len({tuple(sorted(figure.models.items())) for figure in own_figures}) > 1:
        return replace(blank, status="not run: needs all six subsets by the same models")
    triples = []
    for evaluation in evaluations:
        values = figures.judgements(evaluation.judge.job).values[table.metric]
        triples += [((evaluation.evaluation.job.split, task), value, 1 / len(values)) for task, value in values]
    interval = compute_weighted_interval(triples)
    assert interval is not None, "each of the six has values"
    rules = {figure.rule for figure in own_figures} - {None}
    usages = [figure.spent for figure in own_figures if figure.spent is not None]
    own_figure = JudgedFigure(
        value=round(100 * interval[0], 2),
        ci95=_in_per_cent(*interval[1:]),
        n=f"{sum(figure.of or 0 for figure in own_figures):,}",
        job=", ".join(dict.fromkeys(figure.job for figure in own_figures)),
        models=own_figures[0].models,
        rule=rules.pop() if len(rules) == 1 else None,
        spent=reduce(add, usages) if row.against is None else None,
    )
    remarks = dict.fromkeys(
        part for subset_row in subset_rows for part in subset_row.status.split("; ") if part != "run"
    )
    return replace(blank, ours=own_figure, status="; ".join(remarks) or "run")
