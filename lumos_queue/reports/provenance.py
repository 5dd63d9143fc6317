"""Split the calls and scores of a tool agent's job by the provenance of the tools' answers.

The class of an episode is the provenance of its least real answer. Scores over generated answers and over recorded
answers measure different things, so there is a figure for each class. An expert's run that was reused does not make an
episode less real: such calls are counted, but they do not affect the class.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from db.engine.connection import Connection
from db.queries.tool_figures import list_judged_names, list_scored_episodes, provenances, tool_calls
from db.queue.stored_jobs import StoredJob
from lumos_queue.execution.prefill import source_row
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.records import Task
from lumos_queue.reports.expert_runs import EXPERT
from lumos_queue.reports.json_values import MERGED
from lumos_queue.reports.score_values import Metric
from lumos_queue.scoring.statistics import compute_weighted_interval

LEAST_REAL_FIRST = ("synthetic", "simulated", "recorded", "live")
NONE = "none"  #: class of an episode without an answer of a tool, or of a call without an answer
NO_SCORE = "no score"  #: class of items that are not judged, for reasons other than the agent


@dataclass(frozen=True, slots=True)
class ToolCalls:
    """The number of external calls of tools with the same provenance and status."""

    provenance: str  #: `none` for a call without an answer
    status: str
    calls: int


@dataclass(frozen=True, slots=True)
class ClassScores:
    """The scores of the episodes of a class."""

    n: int  #: items
    metrics: Mapping[str, Metric] = field(default_factory=dict[str, Metric], metadata=MERGED)


def classify(sources: frozenset[str]) -> str:
    """Return the class of an episode: the least real provenance of its answers, or `none` without answers."""
    return next((provenance for provenance in LEAST_REAL_FIRST if provenance in sources), NONE)


def count_tool_calls(connection: Connection, job: str) -> list[ToolCalls]:
    """Count the external calls of tools by provenance and status, including calls without an answer."""
    return [ToolCalls(provenance or NONE, status, calls) for provenance, status, calls in tool_calls(connection, job)]


def split_scores(connection: Connection, job: StoredJob, tasks: Mapping[int, Task]) -> dict[str, ClassScores]:
    """Return the number of items and the metrics with intervals by class; {} if all items are of the same class.

    Each item of the job has one class. In a judge's job, the judged runs determine the classes; if these runs
    are not stored, return {}.
    """
    classes = {ordinal: classify(sources) for ordinal, sources in _sources(connection, job).items()}
    score_rows = list_scored_episodes(connection, job.id)
    if not classes or not score_rows:
        return {}
    values: dict[str, dict[str, list[tuple[str, float, float]]]] = {}
    ordinals_by_class: dict[str, set[int]] = {}
    for metric, ordinal, task, value, trials in score_rows:
        name = classes.get(ordinal, NONE)
        ordinals_by_class.setdefault(name, set()).add(ordinal)
        values.setdefault(name, {}).setdefault(metric, []).append((source_row(tasks[task]), value, float(trials)))
    if len(ordinals_by_class) < 2:
        return {}
    figures = {
        name: ClassScores(
            len(ordinals_by_class[name]),
            {metric: _measure(metric_values) for metric, metric_values in values[name].items()},
        )
        for name in (*LEAST_REAL_FIRST, NONE)
        if name in ordinals_by_class
    }
    unscored_items = job.items - sum(map(len, ordinals_by_class.values()))
    return figures | ({NO_SCORE: ClassScores(unscored_items)} if unscored_items else {})


def _sources(connection: Connection, job: StoredJob) -> dict[int, frozenset[str]]:
    """Return the provenances in each episode, by its number in the job; in a judge's job, of the judged episode."""
    formulation = FORMULATIONS.find(job.formulation)
    if formulation is None or not formulation.judges_runs:
        return provenances(connection, job.id, EXPERT)
    judged_names = list_judged_names(connection, job.id)
    jobs = {name.rpartition("-")[0] for name in judged_names.values()}
    by_name = {
        f"{job_id}-{ordinal}": sources
        for job_id in jobs
        for ordinal, sources in provenances(connection, job_id, EXPERT).items()
    }
    return {ordinal: by_name.get(name, frozenset()) for ordinal, name in judged_names.items()} if by_name else {}


def _measure(values: list[tuple[str, float, float]]) -> Metric:
    value, low, high = compute_weighted_interval(values) or (0.0, 0.0, 1.0)
    trials = round(sum(weight for _, _, weight in values))
    return Metric(round(value, 6), (round(low, 6), round(high, 6)), trials)
