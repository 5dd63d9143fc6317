"""The rows of OpenAGI's tables: each published figure with ours, or what it needs, as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from db.figures import score_versions
from db.reading import keyed_tasks, values_by_metric
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
    """The stored evaluations of plans on the published rows, the newest first, and what is read of those shown."""

    connection: Connection | None
    found: Sequence[StoredEvaluation] = ()
    tuned: TunedPlanners = field(default_factory=TunedPlanners)
    _measured: dict[str, _Measured] = field(default_factory=dict)

    def find_best(self, row: PlannerRow) -> StoredEvaluation | None:
        """The newest evaluation with the row's schema; one by the row's planner goes before others."""
        fitting = [
            one
            for one in self.found
            if one.job.benchmark == BENCHMARK and one.job.formulation == FORMULATION and self._is_as(row, one)
        ]
        return min(fitting, key=lambda one: (bool(self.other_planner(row, one)), _is_unfinished(one)), default=None)

    def _is_as(self, row: PlannerRow, found: StoredEvaluation) -> bool:
        """Whether the planner was asked as in the row and, where weights of its own are needed, was fitted as there."""
        if row.schema not in TUNED:
            return _schema(found) == row.schema
        tuned = self.tuned.find(found, PLANNER)
        return _schema(found) == FINE_TUNING and tuned is not None and tuned.way == row.schema

    def other_planner(self, row: PlannerRow, found: StoredEvaluation) -> list[str]:
        """Which other planner it was, as text; of one that was fitted here, what it was fitted from counts."""
        tuned = self.tuned.find(found, PLANNER) if row.schema in TUNED else None
        model = tuned.base if tuned else found.models.get(PLANNER, "")
        if is_tool(model, row.model):
            return []
        return [f"other weights: {PLANNER} is {'fitted from ' if tuned else ''}{model or 'unknown'}, not {row.model}"]

    def measurement(self, job: Any) -> _Measured:
        assert self.connection is not None
        if job.id not in self._measured:
            values, tasks = values_by_metric(self.connection, job.id), keyed_tasks(self.connection, job.id)
            benchmark = open_benchmark(BENCHMARK)
            metrics = scores(job, values, benchmark.metrics, tasks)["metrics"]
            overall = measure_overall(values, tasks, benchmark.overalls["paper"], samples_of(job))
            generated = any("sources" in task.inputs for task in tasks.values())
            versions = score_versions(self.connection, job.id)
            self._measured[job.id] = _Measured(metrics, overall, versions, generated)
        return self._measured[job.id]


@dataclass(frozen=True, slots=True)
class _Measured:
    metrics: dict[str, Any]  #: as in the report
    overall: dict[str, Any]  #: of the paper's metrics, as in the report
    versions: Mapping[str, Mapping[str, int]]  #: of each metric's scorer, which names its weights: scored episodes
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
    found = figures.find_best(row)
    if found is None:
        return blank | {"status": f"not run: needs {_command(row)}"}
    measured = figures.measurement(found.job)
    wanted = tuple(METRICS.values()) if column == OVERALL else (METRICS[column],)
    if lacking := [
        name for name in wanted if name not in measured.metrics or name in measured.overall.get("not_run", ())
    ]:
        status = f"not run: job {found.job.id} has no {', '.join(lacking)}: needs their weights (docs/experts.md)"
        return blank | {"status": status}
    metric = measured.overall["over_metrics"] if column == OVERALL else measured.metrics[METRICS[column]]
    n = sum(sum(measured.versions[name].values()) for name in wanted)
    ours = {"value": metric["value"], "ci95": metric["ci95"], "n": f"{n:,}"}
    ours |= {"digits": 4, "job": found.job.id, "rows": found.rows.text}
    ours |= {"tools": found.tools, "models": dict(found.models)}
    return blank | {"ours": ours, "status": _status(row, found, measured, wanted, figures)}


def _status(
    row: PlannerRow, found: StoredEvaluation, measured: _Measured, wanted: Sequence[str], figures: PlannerFigures
) -> str:
    remarks = []
    if any("bounds" in measured.metrics[name] for name in wanted) or _is_unfinished(found):
        remarks.append("incomplete")
    remarks += figures.other_planner(row, found)
    if (experts := found.tools.get("experts", PAPER_EXPERTS)) != PAPER_EXPERTS:
        remarks.append(f"other experts: {experts}")
    if measured.generated:
        remarks.append("other data: generated")
    others = {one for name in wanted for one in measured.versions[name] if not _is_published(name, one)}
    if others:
        remarks.append(f"other weights of scores: {', '.join(sorted(others))}")
    remarks += found.remarks_on_rows
    return "; ".join(remarks) or "run"


def _is_published(metric: str, version: str) -> bool:
    """Whether a score's version names the weights that the released code used."""
    return version.partition("@")[0] == SCORES[metric].checkpoint


def _schema(found: StoredEvaluation) -> str:
    agent = Agent.from_json(found.infer["agent"])
    return agent.settings.get("schema", FORMULATIONS.load(FORMULATION).settings["schema"].default)


def _is_unfinished(found: StoredEvaluation) -> bool:
    return found.job.state != JobState.DONE


def _command(row: PlannerRow) -> str:
    schema, planner = row.schema, f"{row.model} as planner"
    if row.schema in TUNED:
        fitted = f"lumos train sft --from FOLDER --preset {row.model.lower()}"
        then = ", then lumos train rltf" if row.schema == RLTF else ""
        schema = FINE_TUNING
        planner = f"{row.model} as fitted by {fitted}{then}, as the paper's weights ({row.schema}) were never released"
    return (
        f"lumos evaluate {BENCHMARK} --data FOLDER --published --split all --formulation {FORMULATION} --setting "
        f"schema={schema} --planner URL ({planner}; experts and scores with the paper's checkpoints)"
    )
