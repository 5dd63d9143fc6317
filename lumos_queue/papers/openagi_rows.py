"""The rows of OpenAGI's tables: each published figure with our figure, or with what our figure would need, as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from db.figures import score_versions
from db.reading import load_keyed_tasks, values_by_metric
from db.states import JobState
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.papers.openagi_results import METRICS, OVERALL, RLTF, TUNED, PlannerRow, PlannerTable
from lumos_queue.papers.stored_evaluations import StoredEvaluation, is_tool
from lumos_queue.papers.tuned_planners import TunedPlanners
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.model_synthesis import FINE_TUNING
from lumos_queue.reports.groups import measure_overall, samples_of
from lumos_queue.reports.scores import scores
from lumos_queue.scoring.media.paper import SCORES

BENCHMARK, FORMULATION, PLANNER = "openagi", "model-synthesis", "planner"
PAPER_EXPERTS = "hf"  #: the option `experts` with which the paper's checkpoints run
_DISTANCE = "if the released code made this figure, it is a distance: the larger, the less alike"
Row = dict[str, Any]


@dataclass(slots=True)
class PlannerFigures:
    """The stored evaluations of plans on the published rows, the newest first, with their measurements."""

    connection: Connection | None
    evaluations: Sequence[StoredEvaluation] = ()
    tuned: TunedPlanners = field(default_factory=TunedPlanners)
    _measurements: dict[str, _Measurement] = field(default_factory=dict)

    def find_best(self, row: PlannerRow) -> StoredEvaluation | None:
        """Return the best evaluation with the row's schema: if possible by the row's planner, complete, and new."""
        candidates = [
            evaluation
            for evaluation in self.evaluations
            if evaluation.job.benchmark == BENCHMARK
            and evaluation.job.formulation == FORMULATION
            and self._is_as(row, evaluation)
        ]
        return min(
            candidates,
            key=lambda evaluation: (bool(self.other_planner(row, evaluation)), _is_unfinished(evaluation)),
            default=None,
        )

    def _is_as(self, row: PlannerRow, evaluation: StoredEvaluation) -> bool:
        """Whether the planner had the row's schema, and was trained by the same recipe if the row's planner was."""
        if row.schema not in TUNED:
            return _schema(evaluation) == row.schema
        tuned_planner = self.tuned.find(evaluation, PLANNER)
        return _schema(evaluation) == FINE_TUNING and tuned_planner is not None and tuned_planner.way == row.schema

    def other_planner(self, row: PlannerRow, evaluation: StoredEvaluation) -> list[str]:
        """Return a text if the planner was not the row's planner. A planner that was trained here is its base."""
        planner = self.tuned.find(evaluation, PLANNER) if row.schema in TUNED else None
        model = planner.base if planner else evaluation.models.get(PLANNER, "")
        if is_tool(model, row.model):
            return []
        return [f"other weights: {PLANNER} is {'fitted from ' if planner else ''}{model or 'unknown'}, not {row.model}"]

    def measurement(self, job: Any) -> _Measurement:
        assert self.connection is not None
        if job.id not in self._measurements:
            values, tasks = values_by_metric(self.connection, job.id), load_keyed_tasks(self.connection, job.id)
            benchmark = open_benchmark(BENCHMARK)
            metrics = scores(job, values, benchmark.metrics, tasks)["metrics"]
            overall = measure_overall(values, tasks, benchmark.overalls["paper"], samples_of(job))
            is_generated = any("sources" in task.inputs for task in tasks.values())
            versions = score_versions(self.connection, job.id)
            self._measurements[job.id] = _Measurement(metrics, overall, versions, is_generated)
        return self._measurements[job.id]


@dataclass(frozen=True, slots=True)
class _Measurement:
    metrics: dict[str, Any]  #: as in the report
    overall: dict[str, Any]  #: of the paper's metrics, as in the report
    versions: Mapping[str, Mapping[str, int]]  #: metric to version of its scorer (with its weights) to scored episodes
    generated: bool  #: whether the tasks are about generated data


def planner_rows(table: PlannerTable, figures: PlannerFigures) -> list[Row]:
    """Return a row for each figure of a table: the three metrics and their mean."""
    return [_figure(table, row, column, figures) for row in table.rows for column in row.figures]


def _figure(table: PlannerTable, row: PlannerRow, column: str, figures: PlannerFigures) -> Row:
    figure = row.figures[column]
    blank: Row = {
        "row": row.name,
        "handle": f"{table.key}/{row.slug}",
        "benchmark": BENCHMARK,
        "split": column.lower(),
        "metric": METRICS.get(column, OVERALL),
        "column": column,
        "published": figure,
        "value": float(figure),
        "source": "[P]",
        "published_n": "",
        "note": _DISTANCE if column in ("ViT", OVERALL) and float(figure) else "",
    }
    best = figures.find_best(row)
    if best is None:
        return blank | {"status": f"not run: needs {_command(row)}"}
    measurement = figures.measurement(best.job)
    metric_names = tuple(METRICS.values()) if column == OVERALL else (METRICS[column],)
    if missing_names := [
        name
        for name in metric_names
        if name not in measurement.metrics or name in measurement.overall.get("not_run", ())
    ]:
        status = f"not run: job {best.job.id} has no {', '.join(missing_names)}: needs their weights (docs/experts.md)"
        return blank | {"status": status}
    metric = measurement.overall["over_metrics"] if column == OVERALL else measurement.metrics[METRICS[column]]
    n = sum(sum(measurement.versions[name].values()) for name in metric_names)
    own_figure = {"value": metric["value"], "ci95": metric["ci95"], "n": f"{n:,}"}
    own_figure |= {"digits": 4, "job": best.job.id, "rows": best.rows.text}
    own_figure |= {"tools": best.tools, "models": dict(best.models)}
    return blank | {"ours": own_figure, "status": _status(row, best, measurement, metric_names, figures)}


def _status(
    row: PlannerRow,
    evaluation: StoredEvaluation,
    measurement: _Measurement,
    metric_names: Sequence[str],
    figures: PlannerFigures,
) -> str:
    remarks = []
    if any("bounds" in measurement.metrics[name] for name in metric_names) or _is_unfinished(evaluation):
        remarks.append("incomplete")
    remarks += figures.other_planner(row, evaluation)
    if (experts := evaluation.tools.get("experts", PAPER_EXPERTS)) != PAPER_EXPERTS:
        remarks.append(f"other experts: {experts}")
    if measurement.generated:
        remarks.append("other data: generated")
    other_versions = {
        version for name in metric_names for version in measurement.versions[name] if not _is_published(name, version)
    }
    if other_versions:
        remarks.append(f"other weights of scores: {', '.join(sorted(other_versions))}")
    remarks += evaluation.remarks_on_rows
    return "; ".join(remarks) or "run"


def _is_published(metric: str, version: str) -> bool:
    """Whether a score's version names the weights that the released code used."""
    return version.partition("@")[0] == SCORES[metric].checkpoint


def _schema(evaluation: StoredEvaluation) -> str:
    agent = Agent.from_json(evaluation.infer["agent"])
    return agent.settings.get("schema", FORMULATIONS.load(FORMULATION).settings["schema"].default)


def _is_unfinished(evaluation: StoredEvaluation) -> bool:
    return evaluation.job.state != JobState.DONE


def _command(row: PlannerRow) -> str:
    schema, planner = row.schema, f"{row.model} as planner"
    if row.schema in TUNED:
        fit_command = f"lumos train sft --from FOLDER --preset {row.model.lower()}"
        then = ", then lumos train rltf" if row.schema == RLTF else ""
        schema = FINE_TUNING
        planner = (
            f"{row.model} as fitted by {fit_command}{then}, as the paper's weights ({row.schema}) were never released"
        )
    return (
        f"lumos evaluate {BENCHMARK} --data FOLDER --published --split all --formulation {FORMULATION} --setting "
        f"schema={schema} --planner URL ({planner}; experts and scores with the paper's checkpoints)"
    )
