"""The rows of the tables of tool agents as JSON: each published figure with ours and its costs, or what ours needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from db.engine.connection import Connection
from db.queries.tool_figures import costs, tool_calls
from db.queue.stored_jobs import StoredJob
from lumos_queue.papers.judgements import Judgements, read_judgements
from lumos_queue.papers.model import number
from lumos_queue.papers.tool_commands import needs
from lumos_queue.papers.tool_matching import RUNS, JudgedEvaluation, ToolEvaluation, ToolJobs
from lumos_queue.papers.tool_results import MEAN, SUBSETS, ToolRow, ToolTable
from lumos_queue.records import Role
from lumos_queue.reports.provenance import NONE
from lumos_queue.reports.score_values import Metric
from lumos_queue.scoring.statistics import compute_weighted_interval

Row = dict[str, Any]


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

    def sum_costs(self, evaluation: JudgedEvaluation, metric: str) -> Row:
        """Return the total usage of all runs of the evaluation, and how many runs passed (a tie counts 1/2)."""
        assert self.connection is not None
        usage = costs(self.connection, evaluation.evaluation.job.id, evaluation.evaluation.formulation.roles)
        pass_count = sum(value for _, value in self.judgements(evaluation.judge.job).values.get(metric, ()))
        return {
            "passed": pass_count,
            "model_calls": usage.model_calls,
            "tokens": usage.tokens,
            "tool_calls": usage.tool_calls,
        }


def tool_rows(table: ToolTable, figures: ToolFigures) -> list[Row]:
    """Return a row for each figure of a table: the six subsets and their mean."""
    return [figure for row in table.rows for figure in _method_rows(table, row, figures)]


def _method_rows(table: ToolTable, row: ToolRow, figures: ToolFigures) -> list[Row]:
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


def _blank(table: ToolTable, row: ToolRow, column: str) -> Row:
    figure = row.figures[column]
    return {
        "row": row.name,
        "handle": f"{table.key}/{row.slug}",
        "benchmark": RUNS,
        "split": column,
        "metric": table.metric,
        "column": column,
        "published": figure,
        "value": number(figure),
        "source": table.source,
        "published_n": f"{table.queries[column]:,}" if column in table.queries else "",
        "note": table.note,
    }


def _figure(
    table: ToolTable, row: ToolRow, subset: str, evaluation: JudgedEvaluation | None, figures: ToolFigures
) -> Row:
    blank = _blank(table, row, subset)
    judgements = None if evaluation is None else figures.judgements(evaluation.judge.job)
    metric = None if judgements is None else judgements.metrics.get(table.metric)
    if evaluation is None or judgements is None or metric is None:
        status, commands = needs(table, row, subset, figures.jobs)
        return blank | {"status": f"not run: {status}", "commands": commands}
    own_figure = _format_measurement(metric.value, metric.ci95) | {
        "n": evaluation.evaluation.stored.size,
        "of": metric.of,
        "rows": evaluation.evaluation.stored.rows.text,
        "job": evaluation.judge.job.id,
        "runs": evaluation.evaluation.job.id,
        "tools": evaluation.evaluation.tools,
        "models": {**evaluation.evaluation.stored.models, Role.JUDGE: evaluation.judge.models.get(Role.JUDGE, "")},
    }
    if rule := judgements.rules.get(table.metric):
        own_figure["rule"] = rule
    if row.against is not None and evaluation.against is not None:
        own_figure |= {"against": evaluation.against.job.id}
    elif metric.bounds is None:
        own_figure |= {"spent": figures.sum_costs(evaluation, table.metric)}
    return blank | {"ours": own_figure, "status": _status(table, row, evaluation, metric, figures)}


def _format_measurement(value: float, interval: tuple[float, float]) -> Row:
    return {"value": round(100 * value, 2), "ci95": [round(100 * bound, 2) for bound in interval]}


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
    subset_rows: Sequence[Row],
    evaluations: Sequence[JudgedEvaluation],
    figures: ToolFigures,
) -> Row:
    """Return a row with the unweighted mean of the six subsets, if all are stored, complete, and by the same models."""
    blank = _blank(table, row, MEAN)
    missing_subsets = [
        subset_row["split"]
        for subset_row in subset_rows
        if "ours" not in subset_row or subset_row["status"].startswith("incomplete")
    ]
    if missing_subsets:
        names = f": {', '.join(missing_subsets)}" if len(missing_subsets) < len(SUBSETS) else ""
        return blank | {"status": f"not run: needs all six subsets, complete{names}"}
    if len({tuple(sorted(subset_row["ours"]["models"].items())) for subset_row in subset_rows}) > 1:
        return blank | {"status": "not run: needs all six subsets by the same models"}
    triples = []
    for evaluation in evaluations:
        values = figures.judgements(evaluation.judge.job).values[table.metric]
        triples += [((evaluation.evaluation.job.split, task), value, 1 / len(values)) for task, value in values]
    interval = compute_weighted_interval(triples)
    assert interval is not None, "each of the six has values"
    jobs = [subset_row["ours"]["job"] for subset_row in subset_rows]
    own_figure = _format_measurement(interval[0], interval[1:]) | {
        "n": f"{sum(subset_row['ours']['of'] for subset_row in subset_rows):,}",
        "job": ", ".join(dict.fromkeys(jobs)),
        "models": subset_rows[0]["ours"]["models"],
    }
    if len(rules := {subset_row["ours"].get("rule") for subset_row in subset_rows} - {None}) == 1:
        own_figure["rule"] = rules.pop()
    if row.against is None:
        usages = [subset_row["ours"]["spent"] for subset_row in subset_rows]
        own_figure["spent"] = {name: sum(usage[name] for usage in usages) for name in usages[0]}
    remarks = dict.fromkeys(
        part for subset_row in subset_rows for part in subset_row["status"].split("; ") if part != "run"
    )
    return blank | {"ours": own_figure, "status": "; ".join(remarks) or "run"}
