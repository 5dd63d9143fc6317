"""A job's report, computed from rows at the moment of asking: nothing in it is stored, everything can be traced."""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean, variance
from typing import Any

from sqlalchemy import Connection

from db.jobs import count_endings, progress
from db.reading import (
    calls_by_ending,
    clock,
    latency_by_role,
    messages,
    outputs,
    seconds_by_phase,
    tasks_of,
    totals,
    values_by_metric,
)
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.reports.conversion import conversion_report
from lumos_queue.reports.statistics import wilson

Report = dict[str, Any]


def make_report(connection: Connection, job: Any) -> Report:
    """The report of a job's row, as JSON. Rates have all items of the job as their denominator."""
    items = progress(connection, job.id)
    report: Report = {
        "job": job.id, "kind": job.kind, "state": job.state, "waiting": job.waiting, "benchmark": job.benchmark,
        "split": job.split, "formulation": job.formulation, "n": job.items, "finished": items.get("done", 0),
        "items": items, "seconds": _seconds(connection, job), "code_version": job.code_version, "seed": job.seed,
    }  # fmt: skip
    if job.kind == "train":
        return report | {
            "windows": [{"item": ordinal, **(output or {})} for ordinal, output in outputs(connection, job.id)]
        }
    sums, endings = totals(connection, job.id), count_endings(connection, job.id)
    report |= {
        "endings": endings,
        "calls": sums.calls,
        "tokens": {"prompt": sums.prompt_tokens, "completion": sums.completion_tokens},
        "phases": {name: round(seconds, 3) for name, seconds in seconds_by_phase(connection, job.id).items()},
        "latency": {
            role: {name: round(seconds, 6) for name, seconds in means.items()}
            for role, _, means in latency_by_role(connection, job.id)
        },
        "calls_by_ending": [
            dict(zip(("ending", "subgoals", "calls", "episodes"), row, strict=True))
            for row in calls_by_ending(connection, job.id)
        ],
        "problems": [
            dict(zip(("ending", "message", "episodes"), row, strict=True)) for row in messages(connection, job.id)
        ],
    }
    if check := _calls_check(job, report["calls_by_ending"]):
        report["calls_as_expected"] = check
    if job.kind == "convert":
        values = values_by_metric(connection, job.id)
        report |= _scores(job, values, ["accepted" if "accepted" in values else "executed"])
        report |= conversion_report(connection, job)
    elif job.kind == "evaluate":
        benchmark, tasks = open_benchmark(job.benchmark), tasks_of(connection, job.id)
        metrics = [score.metric for score in benchmark.score(tasks[0], None)]
        report |= _scores(job, values_by_metric(connection, job.id), metrics)
        report["baselines"] = {
            name: {"correct": sum(verdicts), "accuracy": round(sum(verdicts) / len(tasks), 6)}
            for name, verdicts in benchmark.baselines(tasks).items()
        }
    return report


def expected_calls(formulation: str, subgoals: int, most_subgoals: int) -> int | None:
    """Model calls of an episode with so many subgoals; None for a formulation that has no such rule.

    One-pass: a plan and its grounding. Iterative: two for each subgoal, and one to be told that the planner stops,
    unless the limit of subgoals is reached.
    """
    if formulation == "one-pass":
        return 2
    return 2 * subgoals + (subgoals < most_subgoals) if formulation == "iterative" else None


def _calls_check(job: Any, shapes: list[Report]) -> dict[str, int] | None:
    if job.kind not in ("infer", "evaluate"):
        return None
    most = job.spec.get("infer", job.spec).get("agent", {}).get("max_subgoals", 0)
    # Neither has a rule of calls: an endpoint that failed, and a context that was full before the last subgoal.
    judged = [
        shape for shape in shapes
        if shape["ending"] not in ("infra_error", "limit")
        or (shape["ending"] == "limit" and job.formulation == "iterative" and shape["subgoals"] == most)
    ]  # fmt: skip
    expected = [expected_calls(job.formulation, shape["subgoals"], most) for shape in judged]
    if not judged or None in expected:
        return None
    right = [shape["episodes"] for shape, calls in zip(judged, expected, strict=True) if shape["calls"] == calls]
    return {"episodes": sum(shape["episodes"] for shape in judged), "as_expected": sum(right)}


def _scores(job: Any, values: dict[str, list[tuple[int, float]]], metrics: list[str]) -> Report:
    """The main metric, the first, with its interval; the others as shares.

    Items without a judgement, for reasons that are not the agent's, make the report incomplete: `bounds` counts them as
    all wrong and as all right, and the interval spans both.
    """
    main, *others = metrics
    judged = values.get(main, [])
    correct, missing = int(sum(value for _, value in judged)), job.items - len(judged)
    scores: Report = {
        "metric": main,
        "correct": correct,
        "accuracy": round(correct / job.items, 6),
        "ci95": [round(bound, 6) for bound in _interval(job, judged)],
        "complete": missing == 0,
    }
    if missing:
        scores["bounds"] = [round(correct / job.items, 6), round((correct + missing) / job.items, 6)]
    scores["other_metrics"] = {
        name: round(sum(value for _, value in values.get(name, [])) / job.items, 6) for name in others
    }
    return scores


def _interval(job: Any, judged: list[tuple[int, float]]) -> tuple[float, float]:
    """The 95 % interval, by Wilson; from the worst to the best that what is missing can make of it."""
    samples = job.spec.get("infer", job.spec).get("samples", 1)
    by_task: dict[int, list[float]] = defaultdict(list)
    for task, value in judged:
        by_task[task].append(value)
    unseen = job.items // samples - len(by_task)
    worst = [sum(seen) / samples for seen in by_task.values()] + [0.0] * unseen
    best = [(sum(seen) + samples - len(seen)) / samples for seen in by_task.values()] + [1.0] * unseen
    return _clustered(worst, samples)[0], _clustered(best, samples)[1]


def _clustered(shares: list[float], samples: int) -> tuple[float, float]:
    """Wilson's interval with the effective number of samples: those of one task are not independent.

    That number is p(1 - p) over the variance of the tasks' mean (L. Kish, Survey Sampling, 1965, on design effects),
    at least the number of tasks, at most that of samples.
    """
    share, effective = fmean(shares), len(shares)
    if samples > 1 and len(shares) > 1 and (spread := variance(shares, share)):
        effective = round(min(samples * len(shares), max(effective, share * (1 - share) * len(shares) / spread)))
    return wilson(round(share * effective), effective)


def _seconds(connection: Connection, job: Any) -> float | None:
    """From the first slice's start to the end of the job, or to now."""
    if job.started_at is None:
        return None
    return round((job.finished_at or clock(connection)) - job.started_at, 3)
