"""A sweep's report, computed from stored rows: a score for each arm and benchmark, over all seeds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from sqlalchemy import Connection

from db.jobs import get_job
from db.reading import values_by_metric
from db.training_steps import summarize_fits
from lumos_queue.benchmarks.registry import open_benchmark_of
from lumos_queue.reports.baselines import kept_baselines
from lumos_queue.scoring.statistics import weighted_interval
from lumos_queue.sweeps.carry_out import SweepFit
from lumos_queue.sweeps.plan import SweepPlan


def report_sweep(
    connection: Connection, plan: SweepPlan, fits: Sequence[SweepFit], sizes: dict[str, int]
) -> dict[str, Any]:
    """The report as JSON. Scores are shares of all items; an item that was not judged counts as wrong, and is told.

    A score's interval is that of the tasks, for the mean of these fits: replies of several fits to one task are a
    cluster. How far fits differ by their seeds is seen in `by_seed`.
    """
    rows = []
    for arm in plan.arms():
        mine = [fit for fit in fits if fit.arm == arm]
        trained = [job for fit in mine for job in fit.trained.values()]
        tokens = [one["tokens"] or 0 for job in trained for one in summarize_fits(connection, job)]
        rows.append(
            {
                "label": plan.label(arm),
                **arm.model_dump(),
                "rows": sizes[arm.annotation],
                "fits": [
                    {"seed": fit.seed, "trained": fit.trained, "evaluated": fit.evaluated, "failed": fit.failed}
                    for fit in mine
                ],
                "tokens": max(tokens, default=None),
                "scores": {
                    one.label: score
                    for one in plan.benchmarks
                    if (
                        score := _score(
                            connection,
                            {fit.seed: fit.evaluated[one.label] for fit in mine if one.label in fit.evaluated},
                        )
                    )
                },
            }
        )
    whole = all(
        one.label in row["scores"]
        and row["scores"][one.label]["complete"]
        and len(row["scores"][one.label]["by_seed"]) == len(plan.seeds)
        for row in rows
        for one in plan.benchmarks
    )
    remarks = [f"{name}: {size} episodes to train on" for name, size in sizes.items()]
    for fit in fits:
        for module, state in fit.failed.items():
            job = fit.trained[module]
            remarks.append(
                f"{plan.label(fit.arm)}, seed {fit.seed}: its training job {job} is {state}: lumos job {job}"
            )
    benchmarks = {one.label: {"rule": _best_rule(connection, fits, one.label)} for one in plan.benchmarks}
    remarks += [line for one in plan.benchmarks for line in _order(plan, rows, one.label)]
    return {
        "title": plan.title,
        "seeds": plan.seeds,
        "benchmarks": benchmarks,
        "rows": rows,
        "remarks": remarks,
        "complete": whole,
    }


def _score(connection: Connection, jobs: dict[int, str]) -> dict[str, Any] | None:
    """`jobs`: the evaluation of each seed's models."""
    triples, by_seed, judged, items = [], {}, 0, 0
    for seed, identifier in jobs.items():
        job = get_job(connection, identifier)
        values = values_by_metric(connection, job.id).get(job.main_metric, [])
        triples += [(task, value, 1.0) for task, value, _ in values]
        triples += [((identifier, number), 0.0, 1.0) for number in range(job.items - len(values))]
        by_seed[seed] = round(sum(value for _, value, _ in values) / job.items, 6)
        judged, items = judged + len(values), items + job.items
    found = weighted_interval(triples)
    if found is None:
        return None
    value, low, high = (round(one, 6) for one in found)
    return {
        "value": value,
        "ci95": [low, high],
        "by_seed": by_seed,
        "judged": judged,
        "of": items,
        "complete": judged == items,
    }


def _best_rule(connection: Connection, fits: Sequence[SweepFit], label: str) -> dict[str, Any] | None:
    """The best rule without a model, on the same rows."""
    jobs = [fit.evaluated[label] for fit in fits if label in fit.evaluated]
    if not jobs:
        return None
    job = get_job(connection, jobs[0])
    rules = kept_baselines(connection, job, open_benchmark_of(job))
    if not rules:
        return None
    name = max(rules, key=lambda one: rules[one]["value"])
    return {"name": name, **rules[name]}


def _order(plan: SweepPlan, rows: Sequence[dict[str, Any]], benchmark: str) -> list[str]:
    """Where the order of two arms is not the expected one."""
    scores = {row["label"]: row["scores"].get(benchmark) for row in rows}
    said = []
    for lower, higher in combinations(plan.order, 2):
        low, high = scores[lower], scores[higher]
        if low is None or high is None or low["value"] <= high["value"]:
            continue
        sure = "the intervals are apart" if low["ci95"][0] > high["ci95"][1] else "the intervals overlap"
        said.append(f"{benchmark}: {lower} is above {higher}, unlike in {plan.order_from or 'the order given'}; {sure}")
    if plan.order and not said and all(scores[name] for name in plan.order):
        said.append(f"{benchmark}: the order is that of {plan.order_from or 'the file'}")
    return said
