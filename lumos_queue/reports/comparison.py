"""Compare jobs task by task, each with the first job, which is the baseline.

Other pairs are not compared, because the question is the effect of a change, and each further pair makes Holm's
correction stricter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from db.engine.connection import Connection
from db.kinds.states import ItemState
from db.queries.job_endpoints import load_served_models
from db.queries.pairs import Pairs, count_common
from db.queue.figures import count_endings, count_scores, progress, score_versions, seconds_by_phase, totals
from db.queue.stored_jobs import StoredJob
from lumos_queue.errors import SpecError
from lumos_queue.records import Ending
from lumos_queue.reports.comparability import COMMON, choose_metric, find_open, find_unlike, have_equal_rows
from lumos_queue.reports.comparison_values import ChangedPair, ComparedJob, JobsComparison, PairComparison, PairFigures
from lumos_queue.reports.differences import differences
from lumos_queue.reports.field_groups import Groups, split_tasks
from lumos_queue.reports.field_scores import adjust_groups, compare_by_fields
from lumos_queue.reports.pair_figures import measure_pairs
from lumos_queue.reports.scores import job_scores
from lumos_queue.reports.task_choice import remark_on_choice
from lumos_queue.reports.totals import measure_use
from lumos_queue.reports.wall_time import wall_seconds
from lumos_queue.scoring.paired_tests import holm

SHOWN = 10  #: default limit of the fixed, and of the broken, pairs in the list of a comparison


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a comparison."""

    metric: str = ""  #: '': the benchmark's main metric
    common: bool = False  #: whether unlike jobs are compared on the tasks and samples that are judged in both
    max_pairs: int = SHOWN  #: limit of the fixed, and of the broken, pairs in the list
    prices: tuple[float, float] | None = None  #: USD for a million prompt and completion tokens
    by: Sequence[str] = ()  #: fields by whose values tasks are also compared


def compare_jobs(connection: Connection, jobs: Sequence[StoredJob], options: Options = Options()) -> JobsComparison:
    """Compare jobs with the first of them.

    Raises SpecError, in one line, if the jobs cannot be compared (see comparability.py), and if the first job does not
    have a field that `options.by` names.
    """
    metric = choose_metric(connection, jobs, options.metric)
    first, *other_jobs = jobs
    if (half := find_open(connection, jobs)) and not options.common:
        raise SpecError(f"Not compared, {half}. Wait until it is done, or see its state with: lumos job. {COMMON}")
    groups = split_tasks(connection, first, options.by) if options.by else {}
    comparisons = [_compare_pair(connection, first, other_job, metric, options, groups) for other_job in other_jobs]
    if groups:
        comparisons = adjust_groups(comparisons)
    p_holm = holm([comparison.figures.p for comparison in comparisons])
    heads = differences(jobs, load_served_models(connection, [job.id for job in jobs]))
    return JobsComparison(
        benchmark=first.benchmark,
        split=first.split,
        metric=metric,
        common=options.common,
        baseline=first.id,
        jobs=[
            _describe_job(connection, job, head, metric, options.prices) for job, head in zip(jobs, heads, strict=True)
        ],
        comparisons=[replace(comparison, p_holm=p) for comparison, p in zip(comparisons, p_holm, strict=True)],
        notes=_notes(connection, jobs, metric, half),
    )


def _compare_pair(
    connection: Connection, first: StoredJob, second: StoredJob, metric: str, options: Options, groups: Groups
) -> PairComparison:
    unlike = find_unlike(connection, first, second)
    if unlike and not options.common:
        raise SpecError(f"Not compared, {unlike}. {COMMON}")
    pairs = Pairs(connection, first, second, metric, by_content=first.dataset != second.dataset)
    figures = measure_pairs(connection, first, second, pairs)
    if figures is None:
        raise SpecError(
            f"Jobs {first.id} and {second.id} have no task in common that both have judged by '{metric}'. "
            "Compare jobs that tried the same rows."
        )
    of = None
    if not unlike or have_equal_rows(connection, first, second):
        of = first.items
        if unlike or _may_differ(connection, (first, second), metric, figures.pairs):
            of = count_common(connection, first, second)
        if not unlike and of < first.items:
            unlike = f"other tasks: of {first.items:,} items of each, both have {of:,} of {first.items:,}"
            if not options.common:
                raise SpecError(f"Not compared, {unlike}. {COMMON}")
    changed = {
        better: [
            ChangedPair(
                f"{first.id}-{pair.number_a}",
                f"{second.id}-{pair.number_b}",
                pair.sample,
                pair.value_a,
                pair.value_b,
                pair.question,
            )
            for pair in pairs.list_changed(better, options.max_pairs)
        ]
        for better in (True, False)
    }
    return PairComparison(
        figures=figures,
        a=first.id,
        b=second.id,
        unlike=unlike,
        items={first.id: first.items, second.id: second.items},
        by=compare_by_fields(connection, first, second, pairs, groups) if groups else None,
        of=of,
        bounds=None if of is None else _bounds(figures, of),
        fixed_pairs=changed[True],
        broken_pairs=changed[False],
        p_holm=figures.p,
    )


def _may_differ(connection: Connection, jobs: tuple[StoredJob, StoredJob], metric: str, pairs: int) -> bool:
    """Return whether two jobs with the same dataset and number of items may have different items.

    This is so if tasks were chosen, or if more items lack a pair than is possible for jobs with the same items.
    """
    judged_counts = [sum(count.episodes for count in count_scores(connection, job.id)[metric]) for job in jobs]
    return any(job.chosen for job in jobs) or sum(judged_counts) - pairs > jobs[0].items


def _bounds(figures: PairFigures, of: int) -> tuple[float, float]:
    """Return the range of the difference: each item without a pair may become fixed or broken."""
    missing_pairs = of - figures.pairs
    known_sum = figures.difference * figures.pairs
    return round((known_sum - missing_pairs) / of, 6), round((known_sum + missing_pairs) / of, 6)


def _describe_job(
    connection: Connection, job: StoredJob, head: Mapping[str, str], metric: str, prices: tuple[float, float] | None
) -> ComparedJob:
    """Return the score and the costs of a job, as in its report."""
    sums, endings, items = totals(connection, job.id), count_endings(connection, job.id), progress(connection, job.id)
    counts = count_scores(connection, job.id)[metric]
    ones = all(count.value in (0, 1) and count.trials == 1 for count in counts)
    right = round(sum(count.value * count.episodes for count in counts)) if ones else None
    cost_totals = sums.totals
    usd = cost_totals.usd(prices) if prices else None
    seconds = wall_seconds(connection, job)
    cost = {"calls": cost_totals.calls, "tokens": cost_totals.tokens, "seconds": seconds, "usd": usd}
    return ComparedJob(
        job=job.id,
        name=job.name,
        state=job.state,
        formulation=job.formulation,
        differs=dict(head),
        items=job.items,
        done=items.get(ItemState.DONE, 0),
        judged=sum(count.episodes for count in counts),
        infra_error=endings.get(Ending.INFRA_ERROR.value, 0),
        score=job_scores(connection, job, [metric]).metrics[metric],
        right=right,
        tokens=measure_use(cost_totals).tokens,
        busy_seconds=round(sum(seconds_by_phase(connection, job.id).values()), 3),
        calls=cost_totals.calls,
        seconds=seconds,
        usd=usd,
        per_right={name: value / right for name, value in cost.items() if value is not None} if right else {},
        versions=score_versions(connection, job.id).get(metric, {}),
        chosen=job.chosen,
    )


def _notes(connection: Connection, jobs: Sequence[StoredJob], metric: str, half: str) -> list[str]:
    """Return warnings about the figures, one line each."""
    notes = [f"Half done: {half}."] if half else []
    versions = {job.id: sorted(score_versions(connection, job.id).get(metric, {})) for job in jobs}
    if len(set(map(tuple, versions.values()))) > 1:
        text = ", ".join(f"{job} by {' and '.join(job_versions)}" for job, job_versions in versions.items())
        notes.append(f"Judged by other versions of '{metric}': {text}. The newest score of each episode counts.")
    for job in jobs:
        if remark := remark_on_choice(job.parent, job.chosen, job.benchmark):
            notes.append(f"{job.id}: {remark}.")
    return notes
