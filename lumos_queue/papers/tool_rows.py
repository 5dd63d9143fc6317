"""The rows of the tables of tool agents: each published figure with ours, what ours cost, or what it needs, as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from db.reading import keyed_tasks, values_by_metric
from db.tool_figures import costs, tool_calls
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.endpoints.roles import JUDGE
from lumos_queue.execution.prefill import source_row
from lumos_queue.papers.model import number
from lumos_queue.papers.tool_commands import needs
from lumos_queue.papers.tool_matching import RUNS, VERDICTS, JudgedEvaluation, ToolEvaluation, ToolJobs
from lumos_queue.papers.tool_results import MEAN, SUBSETS, ToolRow, ToolTable
from lumos_queue.reports.provenance import NONE
from lumos_queue.reports.scores import scores
from lumos_queue.scoring.statistics import weighted_interval

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Judgements:
    """What a judge's job says of its runs."""

    metrics: dict[str, Any]  #: as in the report
    values: dict[str, list[tuple[str, float]]]  #: metric to (row of the task, value), one for each judged run


@dataclass(slots=True)
class ToolFigures:
    """The stored jobs of tool agents, and what is read of those that are shown: once for each."""

    connection: Connection | None
    jobs: ToolJobs
    _judged: dict[str, Judgements] = field(default_factory=dict)
    _calls: dict[str, list[tuple[str, str, int]]] = field(default_factory=dict)

    def judgements(self, job: Any) -> Judgements:
        assert self.connection is not None
        if job.id not in self._judged:
            values, tasks = values_by_metric(self.connection, job.id), keyed_tasks(self.connection, job.id)
            metrics = scores(job, values, open_benchmark(VERDICTS).metrics, tasks)["metrics"]
            by_row = {
                name: [(source_row(tasks[task]), value) for task, value, _ in found] for name, found in values.items()
            }
            self._judged[job.id] = Judgements(metrics, by_row)
        return self._judged[job.id]

    def calls(self, job: Any) -> list[tuple[str, str, int]]:
        assert self.connection is not None
        if job.id not in self._calls:
            self._calls[job.id] = tool_calls(self.connection, job.id)
        return self._calls[job.id]

    def sum_costs(self, judged: JudgedEvaluation, metric: str) -> Row:
        """What all runs of the evaluation used together, and how many of them passed (ties count 1/2)."""
        assert self.connection is not None
        used = costs(self.connection, judged.own.job.id, judged.own.formulation.roles)
        passed = sum(value for _, value in self.judgements(judged.judge.job).values.get(metric, ()))
        return {
            "passed": passed,
            "model_calls": used.model_calls,
            "tokens": used.tokens,
            "tool_calls": used.tool_calls,
        }


def tool_rows(table: ToolTable, figures: ToolFigures) -> list[Row]:
    """A row for each figure of a table: those of the six subsets, and their mean."""
    return [one for row in table.rows for one in _method_rows(table, row, figures)]


def _method_rows(table: ToolTable, row: ToolRow, figures: ToolFigures) -> list[Row]:
    found = {subset: figures.jobs.find_judged(table, row, subset) for subset in SUBSETS}
    shown = [_figure(table, row, subset, judged, figures) for subset, judged in found.items()]
    return [*shown, _mean(table, row, shown, [one for one in found.values() if one is not None], figures)]


def _blank(table: ToolTable, row: ToolRow, column: str) -> Row:
    published = row.figures[column]
    return {
        "row": row.name,
        "handle": f"{table.key}/{row.slug}",
        "benchmark": RUNS,
        "split": column,
        "metric": table.metric,
        "column": column,
        "published": published,
        "value": number(published),
        "source": table.source,
        "published_n": f"{table.queries[column]:,}" if column in table.queries else "",
        "note": table.note,
    }


def _figure(table: ToolTable, row: ToolRow, subset: str, judged: JudgedEvaluation | None, figures: ToolFigures) -> Row:
    blank = _blank(table, row, subset)
    metric = None if judged is None else figures.judgements(judged.judge.job).metrics.get(table.metric)
    if judged is None or metric is None:
        status, commands = needs(table, row, subset, figures.jobs)
        return blank | {"status": f"not run: {status}", "commands": commands}
    ours = _measured(metric) | {
        "n": judged.own.stored.size,
        "of": metric["of"],
        "rows": judged.own.stored.rows.text,
        "job": judged.judge.job.id,
        "runs": judged.own.job.id,
        "tools": judged.own.tools,
        "models": {**judged.own.stored.models, JUDGE: judged.judge.models.get(JUDGE, "")},
    }
    if row.against is not None and judged.against is not None:
        ours |= {"against": judged.against.job.id}
    elif "bounds" not in metric:
        ours |= {"spent": figures.sum_costs(judged, table.metric)}
    return blank | {"ours": ours, "status": _status(table, row, judged, metric, figures)}


def _measured(metric: Row) -> Row:
    return {"value": round(100 * metric["value"], 2), "ci95": [round(100 * bound, 2) for bound in metric["ci95"]]}


def _status(table: ToolTable, row: ToolRow, judged: JudgedEvaluation, metric: Row, figures: ToolFigures) -> str:
    remarks = []
    if "bounds" in metric:
        low, high = (100 * bound for bound in metric["bounds"])
        remarks.append(f"incomplete: {low:.1f} to {high:.1f}")
    remarks += _departures(table, row, judged, figures)
    if judged.own.other_size(table):
        remarks.append(f"n differs: {judged.own.stored.size} of {table.queries[judged.own.job.split]:,}")
    return "; ".join(remarks) or "run"


def _departures(table: ToolTable, row: ToolRow, judged: JudgedEvaluation, figures: ToolFigures) -> list[str]:
    """What differs from the published measurement: weights, judge, settings, where answers came from."""
    sides = [("", judged.own, row.method)]
    if row.against is not None and judged.against is not None:
        sides.append(("against: ", judged.against, row.against))
    weights = [f"{who}{one}" for who, side, _ in sides for one in side.other_models(table)]
    settings = [f"{who}{one}" for who, side, method in sides for one in side.departures(method)]
    settings += judged.departures(table)
    answers = [f"{who}{one}" for who, side, _ in sides for one in _other_answers(table, side, figures)]
    rows = dict.fromkeys(one for _, side, _ in sides for one in side.stored.remarks_on_rows)
    return [
        *([f"other weights: {'; '.join(weights)}"] if weights else []),
        *judged.other_judge(table),
        *([f"other settings: {'; '.join(settings)}"] if settings else []),
        *([f"other answers: {'; '.join(answers)}"] if answers else []),
        *rows,
    ]


def _other_answers(table: ToolTable, run: ToolEvaluation, figures: ToolFigures) -> list[str]:
    """How many calls were answered otherwise than in the published measurement, as text."""
    calls = figures.calls(run.job)
    total = sum(count for _, _, count in calls)
    by_provenance: dict[str, int] = {}
    for provenance, status, count in calls:
        name = provenance or (status if status == "not_recorded" else NONE)
        if name not in (*table.answers, NONE):
            by_provenance[name] = by_provenance.get(name, 0) + count
    return [f"{count:,} of {total:,} {name.replace('_', ' ')}" for name, count in by_provenance.items()]


def _mean(
    table: ToolTable, row: ToolRow, shown: Sequence[Row], judged: Sequence[JudgedEvaluation], figures: ToolFigures
) -> Row:
    """The unweighted mean of the six subsets, if all are there, complete, and by the same models."""
    blank = _blank(table, row, MEAN)
    lacking = [one["split"] for one in shown if "ours" not in one or one["status"].startswith("incomplete")]
    if lacking:
        named = f": {', '.join(lacking)}" if len(lacking) < len(SUBSETS) else ""
        return blank | {"status": f"not run: needs all six subsets, complete{named}"}
    if len({tuple(sorted(one["ours"]["models"].items())) for one in shown}) > 1:
        return blank | {"status": "not run: needs all six subsets by the same models"}
    triples = []
    for one in judged:
        values = figures.judgements(one.judge.job).values[table.metric]
        triples += [((one.own.job.split, task), value, 1 / len(values)) for task, value in values]
    interval = weighted_interval(triples)
    assert interval is not None, "each of the six has values"
    jobs = [one["ours"]["job"] for one in shown]
    ours = _measured({"value": interval[0], "ci95": interval[1:]}) | {
        "n": f"{sum(one['ours']['of'] for one in shown):,}",
        "job": ", ".join(dict.fromkeys(jobs)),
        "models": shown[0]["ours"]["models"],
    }
    if row.against is None:
        spent = [one["ours"]["spent"] for one in shown]
        ours["spent"] = {name: sum(one[name] for one in spent) for name in spent[0]}
    remarks = dict.fromkeys(part for one in shown for part in one["status"].split("; ") if part != "run")
    return blank | {"ours": ours, "status": "; ".join(remarks) or "run"}
