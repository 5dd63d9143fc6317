"""The rows of OpenAGI's tables: each published figure with ours, or what it needs, as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from db.reading import keyed_tasks, values_by_metric
from db.states import JobState
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.papers.matching import StoredEvaluation, is_tool
from lumos_queue.papers.openagi_results import METRICS, OVERALL, TUNED, PlannerRow, PlannerTable
from lumos_queue.prompts.agent import Agent
from lumos_queue.reports.scores import Values, scores
from lumos_queue.scoring.statistics import weighted_interval

BENCHMARK, FORMULATION, PLANNER = "openagi", "model-synthesis", "planner"
PAPER_EXPERTS = "hf"  #: the option `experts` with which the paper's checkpoints run
_DISTANCE = "if the released code made this figure, it is a distance: the larger, the less alike"
Row = dict[str, Any]


@dataclass(slots=True)
class PlannerFigures:
    """The stored evaluations of plans, the newest first, and what is read of those that are shown."""

    connection: Connection | None
    found: Sequence[StoredEvaluation] = ()
    _measured: dict[str, _Measured] = field(default_factory=dict)

    def find_best(self, row: PlannerRow) -> StoredEvaluation | None:
        """The newest evaluation with the row's schema; one by the row's planner goes before others."""
        fitting = [
            one
            for one in self.found
            if one.job.benchmark == BENCHMARK and one.job.formulation == FORMULATION and _schema(one) == row.schema
        ]
        return min(fitting, key=lambda one: (bool(_other_planner(row, one)), _is_unfinished(one)), default=None)

    def measurement(self, job: Any) -> _Measured:
        assert self.connection is not None
        if job.id not in self._measured:
            values, tasks = values_by_metric(self.connection, job.id), keyed_tasks(self.connection, job.id)
            metrics = scores(job, values, open_benchmark(BENCHMARK).metrics, tasks)["metrics"]
            generated = any("sources" in task.inputs for task in tasks.values())
            self._measured[job.id] = _Measured(metrics, values, generated)
        return self._measured[job.id]


@dataclass(frozen=True, slots=True)
class _Measured:
    metrics: dict[str, Any]  #: as in the report
    values: Mapping[str, Values]
    generated: bool  #: whether the tasks are about generated data


def planner_rows(table: PlannerTable, figures: PlannerFigures) -> list[Row]:
    """A row for each figure of a table: those of the three metrics, and their mean."""
    return [_figure(table, row, column, figures) for row in table.rows for column in row.figures]


def _figure(table: PlannerTable, row: PlannerRow, column: str, figures: PlannerFigures) -> Row:
    published = row.figures[column]
    blank: Row = {
        "row": row.name,
        "handle": f"{table.key}/{row.slug}",
        "benchmark": BENCHMARK,
        "split": column.lower(),
        "metric": METRICS.get(column, OVERALL),
        "column": column,
        "published": published,
        "value": float(published),
        "source": "[P]",
        "published_n": "",
        "note": _DISTANCE if column in ("ViT", OVERALL) and float(published) else "",
    }
    if row.schema in TUNED:
        return blank | {"status": f"not run: needs weights of {row.model} that were never released ({row.schema})"}
    found = figures.find_best(row)
    if found is None:
        return blank | {"status": f"not run: needs {_command(row)}"}
    measured = figures.measurement(found.job)
    wanted = tuple(METRICS.values()) if column == OVERALL else (METRICS[column],)
    if lacking := [name for name in wanted if name not in measured.metrics]:
        status = f"not run: job {found.job.id} has no {', '.join(lacking)}: needs their weights (docs/experts.md)"
        return blank | {"status": status}
    if column == OVERALL:
        ours = _mean([measured.values[name] for name in wanted])
    else:
        metric = measured.metrics[METRICS[column]]
        ours = {"value": metric["value"], "ci95": metric["ci95"], "n": f"{len(measured.values[METRICS[column]]):,}"}
    ours |= {"digits": 4, "job": found.job.id, "tools": found.tools, "models": dict(found.models)}
    return blank | {"ours": ours, "status": _status(row, found, measured, wanted)}


def _mean(found: Sequence[Values]) -> Row:
    """The unweighted mean of metrics, each a mean over its own tasks."""
    triples = [(task, value, 1 / len(values)) for values in found for task, value, _ in values]
    interval = weighted_interval(triples)
    assert interval is not None, "each metric has values"
    value, low, high = (round(one, 6) for one in interval)
    return {"value": value, "ci95": [low, high], "n": f"{len(triples):,}"}


def _status(row: PlannerRow, found: StoredEvaluation, measured: _Measured, wanted: Sequence[str]) -> str:
    remarks = []
    if any("bounds" in measured.metrics[name] for name in wanted) or _is_unfinished(found):
        remarks.append("incomplete")
    remarks += _other_planner(row, found)
    if (experts := found.tools.get("experts", PAPER_EXPERTS)) != PAPER_EXPERTS:
        remarks.append(f"other experts: {experts}")
    if measured.generated:
        remarks.append("other data: generated")
    return "; ".join(remarks) or "run"


def _other_planner(row: PlannerRow, found: StoredEvaluation) -> list[str]:
    model = found.models.get(PLANNER, "")
    return [] if is_tool(model, row.model) else [f"other weights: {PLANNER} is {model or 'unknown'}, not {row.model}"]


def _schema(found: StoredEvaluation) -> str:
    agent = Agent.from_json(found.infer["agent"])
    return agent.settings.get("schema", FORMULATIONS.load(FORMULATION).settings["schema"].default)


def _is_unfinished(found: StoredEvaluation) -> bool:
    return found.job.state != JobState.DONE


def _command(row: PlannerRow) -> str:
    return (
        f"lumos evaluate {BENCHMARK} --data FOLDER --split all --formulation {FORMULATION} --setting "
        f"schema={row.schema} --planner URL ({row.model} as planner; experts and scores with the paper's checkpoints)"
    )
