"""Split the scores of a job's report, or the differences of two jobs' comparison, by fields of their tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from db.engine.connection import Connection
from db.queries.pairs import Pairs
from db.queries.results import values_by_metric
from db.queue.stored_jobs import StoredJob
from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.errors import SpecError
from lumos_queue.reports.comparison_values import GroupComparison, PairComparison
from lumos_queue.reports.field_groups import Groups, split_tasks
from lumos_queue.reports.groups import measure_groups
from lumos_queue.reports.pair_figures import measure_group_pairs
from lumos_queue.reports.score_values import FieldGroupScores
from lumos_queue.reports.scores import samples_of
from lumos_queue.scoring.paired_tests import holm


def measure_by_fields(
    connection: Connection, job: StoredJob, fields: Sequence[str], metrics: Sequence[str]
) -> dict[str, list[FieldGroupScores]]:
    """Return the scores of a job's groups, by name of the field; the most frequent group is first.

    Raises SpecError for a job without scores, and for the fields that `split_tasks` refuses.
    """
    if not metrics and not job.main_metric:
        raise SpecError(
            f"Job {job.id} is of kind '{job.kind}' and has no scores to group. Leave --by out, or name an evaluation."
        )
    values = values_by_metric(connection, job.id)
    metric_values = {name: values[name] for name in metrics if name in values}
    scores_by_field = {}
    for name, groups in split_tasks(connection, job, fields).items():
        figures = measure_groups(job, metric_values, Benchmark(), [group.tasks for group in groups])
        scores_by_field[name] = [
            FieldGroupScores(str(group.kind), group.single_value, group.value_count, scores)
            for group, scores in zip(groups, figures, strict=True)
        ]
    return scores_by_field


def compare_by_fields(
    connection: Connection, first: StoredJob, second: StoredJob, pairs: Pairs, groups: Groups
) -> dict[str, list[GroupComparison]]:
    """Return the difference of two jobs in each group of the first job's tasks, by name of the field."""
    samples = samples_of(first)
    differences_by_field = {}
    for name, field_groups in groups.items():
        figures = measure_group_pairs(connection, first, second, pairs, [group.tasks for group in field_groups])
        differences_by_field[name] = [
            GroupComparison(
                kind=str(group.kind),
                value=group.single_value,
                values=group.value_count,
                n=len(group.tasks) * samples,
                pairs=None if group_figures else 0,
                figures=group_figures,
            )
            for group, group_figures in zip(field_groups, figures, strict=True)
        ]
    return differences_by_field


def adjust_groups(comparisons: Sequence[PairComparison]) -> list[PairComparison]:
    """Return the comparisons with `p_holm` of all groups.

    Holm's correction takes the groups of a field in all comparisons together.
    """
    adjusted: list[dict[str, list[GroupComparison]]] = [{} for _ in comparisons]
    for name in comparisons[0].by or {}:
        all_groups = [group for comparison in comparisons for group in _groups(comparison, name)]
        p_holm = iter(holm([group.figures.p for group in all_groups if group.figures]))
        for comparison, by in zip(comparisons, adjusted, strict=True):
            by[name] = [
                replace(group, p_holm=next(p_holm)) if group.figures else group for group in _groups(comparison, name)
            ]
    return [replace(comparison, by=by) for comparison, by in zip(comparisons, adjusted, strict=True)]


def _groups(comparison: PairComparison, name: str) -> Sequence[GroupComparison]:
    return (comparison.by or {})[name]
