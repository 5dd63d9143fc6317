"""Find the stored evaluation for a row of OpenAGI's tables, and the tasks that its planner had seen before.

A figure is comparable only if no task of the evaluation was in the prompt with its plan, in the training data of the
planner or among the tasks that gave it rewards. An evaluation with such tasks fills no row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from db.engine.connection import Connection
from db.kinds.states import JobState
from db.queries.results import values_by_metric
from db.queries.tasks import load_keyed_tasks, load_task_rows
from db.queue.figures import score_versions
from db.queue.stored_jobs import StoredJob
from lumos_queue.benchmarks.openagi.described_tasks import find_described_tasks
from lumos_queue.benchmarks.openagi.splits import LABELLED, tasks_of
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.errors import SpecError
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.papers.openagi_protocol import BENCHMARK, FORMULATION, SCHEMAS, list_departures, settings_of
from lumos_queue.papers.openagi_results import CLAUDE, GPT_4, GPT_35, RLTF, TUNED, PlannerRow
from lumos_queue.papers.stored_evaluations import StoredEvaluation, is_tool
from lumos_queue.papers.tuned_planners import SCRATCH, TunedPlanner, TunedPlanners
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Role
from lumos_queue.reports.groups import measure_overall, samples_of
from lumos_queue.reports.score_values import Metric, Overall
from lumos_queue.reports.scores import scores

#: Planners that only their makers can train: under their own names they are the paper's planners.
CLOSED = (GPT_35, CLAUDE, GPT_4)
UNKNOWN = "training unknown"


@dataclass(frozen=True, slots=True)
class Measurement:
    """The scores of an evaluation, and facts about its data."""

    metrics: Mapping[str, Metric]
    overall: Overall  #: of the paper's metrics
    versions: Mapping[str, Mapping[str, int]]  #: metric to version of its scorer (with its weights) to scored episodes
    generated: bool  #: whether the tasks are about generated data
    samples: int  #: of the task with the fewest


@dataclass(slots=True)
class PlannerFigures:
    """The stored evaluations of plans on the published rows, the newest first, with their measurements."""

    connection: Connection | None
    evaluations: Sequence[StoredEvaluation] = ()
    tuned: TunedPlanners = field(default_factory=TunedPlanners)
    _measurements: dict[str, Measurement] = field(default_factory=dict)
    _tasks: dict[str, list[str]] = field(default_factory=dict)

    def find_best(self, row: PlannerRow) -> StoredEvaluation | None:
        """Return the best evaluation with the row's schema whose tasks were not seen before.

        The criteria are, in this order: the row's planner, completeness, few differences from the paper, and the age.
        """
        candidates = [
            evaluation
            for evaluation in self._list_candidates(row)
            if not self._has_other_training(row, evaluation) and not self._list_seen(evaluation)
        ]
        return min(
            candidates,
            key=lambda evaluation: (
                bool(self.other_planner(row, evaluation)),
                is_unfinished(evaluation),
                len(list_departures(row, evaluation)),
            ),
            default=None,
        )

    def explain_exclusion(self, row: PlannerRow) -> str:
        """Return why the newest evaluation with the row's schema fills no row; '' if there is no such evaluation."""
        for evaluation in self._list_candidates(row):
            reasons = self._list_seen(evaluation)
            if row.schema in TUNED and self.tuned.find(evaluation, Role.PLANNER) is None:
                name = evaluation.models.get(Role.PLANNER) or "unknown"
                reasons.append(f"{UNKNOWN}: no job of this database wrote its planner {name}")
            elif self._has_other_training(row, evaluation):
                continue
            if reasons:
                return f"job {evaluation.job.id} fills no row: {'; '.join(reasons)}"
        return ""

    def other_planner(self, row: PlannerRow, evaluation: StoredEvaluation) -> list[str]:
        """Return a text if the planner was not the row's planner. A planner that was trained here is its base."""
        tuned_planner = self.tuned.find(evaluation, Role.PLANNER)
        model = tuned_planner.base if tuned_planner else evaluation.models.get(Role.PLANNER, "")
        is_trained_otherwise = tuned_planner is not None and row.schema not in TUNED
        if is_tool(model, row.model) and not is_trained_otherwise:
            return []
        description = f"{'fitted from ' if tuned_planner else ''}{model or 'unknown'}"
        return [f"other weights: {Role.PLANNER} is {description}, not {row.model}"]

    def list_training_remarks(self, row: PlannerRow, evaluation: StoredEvaluation) -> list[str]:
        """Return texts on the tasks that the planner was trained on, where they differ from the paper's or are unknown.

        The paper's planners learnt from a tenth of the tasks, as many as the labelled split has.
        """
        tuned_planner = self.tuned.find(evaluation, Role.PLANNER)
        if tuned_planner is None:
            model = evaluation.models.get(Role.PLANNER, "")
            if row.model in CLOSED and is_tool(model, row.model):
                return []
            return [f"{UNKNOWN}: no job of this database wrote {Role.PLANNER} {model or 'unknown'}"]
        training, gaps = tuned_planner.training, list(tuned_planner.training.gaps)
        if tuned_planner.base != SCRATCH and not is_tool(tuned_planner.base, row.model):
            gaps.append(f"no job of this database wrote its base {tuned_planner.base}")
        remarks = [f"{UNKNOWN}: {'; '.join(gaps)}"] if gaps else []
        counts = [
            f"{verb} {len(rows)}"
            for verb, rows in (("fitted on", training.taught), ("rewarded on", training.rewarded))
            if rows
        ]
        if not gaps and not _is_as_published(row, tuned_planner):
            remarks.append(f"other training: {' and '.join(counts) or 'fitted on no'} tasks of {BENCHMARK}")
        return remarks

    def measurement(self, job: StoredJob) -> Measurement:
        assert self.connection is not None
        if job.id not in self._measurements:
            values, tasks = values_by_metric(self.connection, job.id), load_keyed_tasks(self.connection, job.id)
            benchmark = open_benchmark(BENCHMARK)
            self._measurements[job.id] = Measurement(
                scores(job, values, benchmark.metrics, tasks).metrics,
                measure_overall(values, tasks, benchmark.overalls["paper"], samples_of(job)),
                score_versions(self.connection, job.id),
                any("sources" in task.inputs for task in tasks.values()),
                min((len(task.inputs["channels"][0]["values"]) for task in tasks.values()), default=0),
            )
        return self._measurements[job.id]

    def task_rows(self, job: StoredJob) -> list[str]:
        """Return the rows of a job's tasks."""
        assert self.connection is not None
        if job.id not in self._tasks:
            self._tasks[job.id] = load_task_rows(self.connection, job.id)
        return self._tasks[job.id]

    def _list_candidates(self, row: PlannerRow) -> list[StoredEvaluation]:
        return [
            evaluation
            for evaluation in self.evaluations
            if evaluation.job.benchmark == BENCHMARK
            and evaluation.job.formulation == FORMULATION
            and settings_of(evaluation)["schema"] in SCHEMAS[row.schema]
        ]

    def _has_other_training(self, row: PlannerRow, evaluation: StoredEvaluation) -> bool:
        """Return whether the row's planner was trained, and the evaluation's planner not by the same recipe."""
        if row.schema not in TUNED:
            return False
        tuned_planner = self.tuned.find(evaluation, Role.PLANNER)
        return tuned_planner is None or tuned_planner.way != row.schema

    def _list_seen(self, evaluation: StoredEvaluation) -> list[str]:
        """Return a text for each way in which the planner had seen tasks of the evaluation before it solved them."""
        rows = self.task_rows(evaluation.job)
        tuned_planner = self.tuned.find(evaluation, Role.PLANNER)
        seen_rows = {"its prompt shows": find_shown_tasks(evaluation)}
        if tuned_planner is not None:
            seen_rows["its planner was fitted on"] = tuned_planner.training.taught
            seen_rows["its planner was rewarded on"] = tuned_planner.training.rewarded
        counts = {text: sum(row in seen for row in rows) for text, seen in seen_rows.items()}
        return [f"{text} {count} of its {len(rows)} tasks" for text, count in counts.items() if count]


def find_shown_tasks(evaluation: StoredEvaluation) -> frozenset[str]:
    """Return the rows of the tasks that each prompt of an evaluation contains, as demonstrations do."""
    agent = Agent.from_json(evaluation.infer["agent"])
    try:
        prefixes = FORMULATIONS.load(FORMULATION).prompt_prefixes(agent)
    except (KeyError, SpecError):  # a setting that this version does not know
        prefixes = {}
    texts = (*prefixes.values(), agent.system or "", agent.prompt)
    return frozenset(row for text in texts for row in find_described_tasks(text))


def is_unfinished(evaluation: StoredEvaluation) -> bool:
    return evaluation.job.state != JobState.DONE


def _is_as_published(row: PlannerRow, planner: TunedPlanner) -> bool:
    """Return whether a planner learnt from as many tasks as the paper's planner of the row."""
    labelled_rows = {str(task.id) for task in tasks_of(LABELLED)}
    taught, rewarded = planner.training.taught, planner.training.rewarded
    if row.schema not in TUNED:
        return not taught and not rewarded
    return taught == labelled_rows and (len(rewarded) == len(labelled_rows) if row.schema == RLTF else not rewarded)
