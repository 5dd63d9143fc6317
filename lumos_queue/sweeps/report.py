"""Compute the report of a sweep from stored rows: a score for each arm and benchmark, over all seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from db.engine.connection import Connection
from db.queries.jobs import get_job
from db.queue.training_steps import summarize_fits
from lumos_queue.benchmarks.registry import open_benchmark_of
from lumos_queue.reports.baselines import load_or_compute_baselines
from lumos_queue.reports.json_values import as_json
from lumos_queue.reports.seeds import combine_jobs
from lumos_queue.sweeps.carry_out import SweepFit
from lumos_queue.sweeps.plan import SweepPlan, label_of


def report_sweep(
    connection: Connection, plan: SweepPlan, fits: Sequence[SweepFit], sizes: dict[str, int]
) -> dict[str, Any]:
    """Return the report as JSON. Scores are shares of all items, and items without judgement count as wrong.

    The interval of a score is that of the mean of these fits over tasks; the replies of several fits to a task form a
    cluster. `by_seed` has the score of each seed. `sizes`: training episodes by annotation source.
    """
    rows = []
    for arm in plan.arms():
        arm_fits = [fit for fit in fits if fit.arm == arm]
        train_jobs = [job for fit in arm_fits for job in fit.trained.values()]
        tokens = [summary["tokens"] or 0 for job in train_jobs for summary in summarize_fits(connection, job)]
        rows.append(
            {
                "label": plan.label(arm),
                **arm.model_dump(),
                "rows": sizes[arm.annotation],
                "fits": [
                    {"seed": fit.seed, "trained": fit.trained, "evaluated": fit.evaluated, "failed": fit.failed}
                    for fit in arm_fits
                ],
                "tokens": max(tokens, default=None),
                "scores": {
                    label_of(benchmark): score
                    for benchmark in plan.benchmarks
                    if (
                        score := _score(
                            connection,
                            {
                                fit.seed: fit.evaluated[label_of(benchmark)]
                                for fit in arm_fits
                                if label_of(benchmark) in fit.evaluated
                            },
                        )
                    )
                },
            }
        )
    whole = all(
        label_of(benchmark) in row["scores"]
        and row["scores"][label_of(benchmark)]["complete"]
        and len(row["scores"][label_of(benchmark)]["by_seed"]) == len(plan.seeds)
        for row in rows
        for benchmark in plan.benchmarks
    )
    remarks = [f"{name}: {size} episodes to train on" for name, size in sizes.items()]
    for fit in fits:
        for module, state in fit.failed.items():
            job = fit.trained[module]
            remarks.append(
                f"{plan.label(fit.arm)}, seed {fit.seed}: its training job {job} is {state}: lumos job {job}"
            )
    benchmarks = {
        label_of(benchmark): {"rule": _best_rule(connection, fits, label_of(benchmark))}
        for benchmark in plan.benchmarks
    }
    remarks += [line for benchmark in plan.benchmarks for line in _order(plan, rows, label_of(benchmark))]
    return {
        "title": plan.title,
        "seeds": plan.seeds,
        "benchmarks": benchmarks,
        "rows": rows,
        "remarks": remarks,
        "complete": whole,
    }


def _score(connection: Connection, jobs: Mapping[int, str]) -> dict[str, Any] | None:
    """Return the score over all seeds as JSON; None without items. `jobs`: the evaluation of each seed of a fit."""
    score = combine_jobs(connection, [(seed, get_job(connection, job)) for seed, job in jobs.items()])
    return as_json(score) if score else None


def _best_rule(connection: Connection, fits: Sequence[SweepFit], label: str) -> dict[str, Any] | None:
    """Return the best score of a rule without a model on the same rows; None if there is no rule."""
    jobs = [fit.evaluated[label] for fit in fits if label in fit.evaluated]
    if not jobs:
        return None
    job = get_job(connection, jobs[0])
    rules = load_or_compute_baselines(connection, job, open_benchmark_of(job))
    if not rules:
        return None
    name = max(rules, key=lambda rule: rules[rule].value)
    return {"name": name, **as_json(rules[name])}


def _order(plan: SweepPlan, rows: Sequence[dict[str, Any]], benchmark: str) -> list[str]:
    """Return a line for each pair of arms that is not in the expected order, or a line that there is no such pair."""
    scores = {row["label"]: row["scores"].get(benchmark) for row in rows}
    lines = []
    for lower, higher in combinations(plan.order, 2):
        low, high = scores[lower], scores[higher]
        if low is None or high is None or low["value"] <= high["value"]:
            continue
        sure = "the intervals are apart" if low["ci95"][0] > high["ci95"][1] else "the intervals overlap"
        lines.append(
            f"{benchmark}: {lower} is above {higher}, unlike in {plan.order_from or 'the order given'}; {sure}"
        )
    if plan.order and not lines and all(scores[name] for name in plan.order):
        lines.append(f"{benchmark}: the order is that of {plan.order_from or 'the file'}")
    return lines
