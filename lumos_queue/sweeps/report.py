"""Compute the report of a sweep from stored rows: a score for each arm and benchmark, over all seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from db.engine.connection import Connection
from db.queries.jobs import get_job
from db.queue.training_steps import summarize_fits
from lumos_queue.benchmarks.registry import open_benchmark_of
from lumos_queue.reports.baselines import find_best_rule, load_or_compute_baselines
from lumos_queue.reports.json_values import MERGED, OPTIONAL
from lumos_queue.reports.score_values import Mean
from lumos_queue.reports.seeds import CombinedScore, combine_jobs
from lumos_queue.sweeps.carry_out import SweepFit
from lumos_queue.sweeps.plan import Arm, SweepPlan, label_of


@dataclass(frozen=True, slots=True)
class FitReport:
    """A fit: an arm with a seed."""

    seed: int
    trained: Mapping[str, str]  #: training jobs by module
    evaluated: Mapping[str, str]  #: evaluations by benchmark
    failed: Mapping[str, str]  #: the state of the training job, by module, where it is not done


@dataclass(frozen=True, slots=True)
class SweepRow:
    """An arm of a sweep with its scores over all seeds."""

    label: str
    annotation: str
    formulation: str
    modules: str
    rows: int  #: episodes to train on
    fits: Sequence[FitReport]
    tokens: int | None  #: of the largest fit; None if nothing was trained
    scores: Mapping[str, CombinedScore]  #: by benchmark; a benchmark that was not run is left out


@dataclass(frozen=True, slots=True)
class BestRule:
    """The rule without a model that has the best score."""

    name: str
    score: Mean = field(metadata=MERGED)


@dataclass(frozen=True, slots=True)
class SweepBenchmark:
    """A benchmark of a sweep."""

    rule: BestRule | None  #: on the same rows; None if there is none


@dataclass(frozen=True, slots=True)
class SweepReport:
    """The scores of a sweep."""

    title: str
    seeds: Sequence[int]
    benchmarks: Mapping[str, SweepBenchmark]
    rows: Sequence[SweepRow]
    remarks: Sequence[str]
    complete: bool  #: whether all fits were trained, evaluated and judged
    files: Sequence[str] | None = field(default=None, metadata=OPTIONAL)  #: that were written


def report_sweep(
    connection: Connection, plan: SweepPlan, fits: Sequence[SweepFit], sizes: dict[str, int]
) -> SweepReport:
    """Return the report. Scores are shares of all items, and items without judgement count as wrong.

    The interval of a score is that of the mean of these fits over tasks; the replies of several fits to a task form a
    cluster. `by_seed` has the score of each seed. `sizes`: training episodes by annotation source.
    """
    labels = [label_of(benchmark) for benchmark in plan.benchmarks]
    rows = [_report_arm(connection, plan, arm, [fit for fit in fits if fit.arm == arm], sizes) for arm in plan.arms()]
    whole = all(
        label in row.scores and row.scores[label].complete and len(row.scores[label].by_seed) == len(plan.seeds)
        for row in rows
        for label in labels
    )
    remarks = [f"{name}: {size} episodes to train on" for name, size in sizes.items()]
    for fit in fits:
        for module, state in fit.failed.items():
            job = fit.trained[module]
            remarks.append(
                f"{plan.label(fit.arm)}, seed {fit.seed}: its training job {job} is {state}: lumos job {job}"
            )
    remarks += [line for label in labels for line in _order(plan, rows, label)]
    return SweepReport(
        title=plan.title,
        seeds=plan.seeds,
        benchmarks={label: SweepBenchmark(_best_rule(connection, fits, label)) for label in labels},
        rows=rows,
        remarks=remarks,
        complete=whole,
    )


def _report_arm(
    connection: Connection, plan: SweepPlan, arm: Arm, fits: Sequence[SweepFit], sizes: Mapping[str, int]
) -> SweepRow:
    """Return an arm with the scores of its fits."""
    train_jobs = [job for fit in fits for job in fit.trained.values()]
    tokens = [summary["tokens"] or 0 for job in train_jobs for summary in summarize_fits(connection, job)]
    scores: dict[str, CombinedScore] = {}
    for label in map(label_of, plan.benchmarks):
        jobs = [(fit.seed, get_job(connection, fit.evaluated[label])) for fit in fits if label in fit.evaluated]
        if score := combine_jobs(connection, jobs):
            scores[label] = score
    return SweepRow(
        label=plan.label(arm),
        annotation=arm.annotation,
        formulation=arm.formulation,
        modules=arm.modules,
        rows=sizes[arm.annotation],
        fits=[FitReport(fit.seed, fit.trained, fit.evaluated, fit.failed) for fit in fits],
        tokens=max(tokens, default=None),
        scores=scores,
    )


def _best_rule(connection: Connection, fits: Sequence[SweepFit], label: str) -> BestRule | None:
    """Return the best score of a rule without a model on the same rows; None if there is no rule."""
    jobs = [fit.evaluated[label] for fit in fits if label in fit.evaluated]
    if not jobs:
        return None
    job = get_job(connection, jobs[0])
    rules = load_or_compute_baselines(connection, job, open_benchmark_of(job))
    if not rules:
        return None
    name = find_best_rule(rules)
    return BestRule(name, rules[name])


def _order(plan: SweepPlan, rows: Sequence[SweepRow], benchmark: str) -> list[str]:
    """Return a line for each pair of arms that is not in the expected order, or a line that there is no such pair."""
    scores = {row.label: row.scores.get(benchmark) for row in rows}
    lines = []
    for lower, higher in combinations(plan.order, 2):
        low, high = scores[lower], scores[higher]
        if low is None or high is None or low.value <= high.value:
            continue
        sure = "the intervals are apart" if low.ci95[0] > high.ci95[1] else "the intervals overlap"
        lines.append(
            f"{benchmark}: {lower} is above {higher}, unlike in {plan.order_from or 'the order given'}; {sure}"
        )
    if plan.order and not lines and all(scores[name] for name in plan.order):
        lines.append(f"{benchmark}: the order is that of {plan.order_from or 'the file'}")
    return lines
