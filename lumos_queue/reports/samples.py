"""A job with several samples of each task: how often they disagree, and what the best of k would be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection

from db.samples import SampleKind, sample_kinds
from lumos_queue.reports.scores import samples_of
from lumos_queue.scoring.statistics import counted_interval, wilson


def sample_figures(connection: Connection, job: Any, metric: str) -> dict[str, Any]:
    """`samples` of a report: flip rate and pass@k of a job (its row) by a metric; {} for a job with one sample."""
    samples = samples_of(job)
    if samples < 2:
        return {}
    return {"samples": measure_samples(sample_kinds(connection, job.id, metric), metric, samples, job.items)}


def measure_samples(kinds: Sequence[SampleKind], metric: str, samples: int, items: int) -> dict[str, Any]:
    """Flip rate and pass@k over the tasks of `items` items. Samples that were not judged are not guessed.

    The flip rate is the share of tasks whose samples are not all alike, of those with two judged samples or more; with
    Wilson's interval. pass@k is there where all scores are 0 or 1.
    """
    tasks = items // samples
    several = [one for one in kinds if one.judged > 1]
    of, flipped = sum(one.tasks for one in several), sum(one.tasks for one in several if not one.alike)
    low, high = wilson(flipped, of)
    found: dict[str, Any] = {"metric": metric, "n": samples, "tasks": tasks}
    found["flips"] = {
        "rate": round(flipped / of, 6) if of else None, "ci95": [round(low, 6), round(high, 6)], "flipped": flipped,
        "of": of, "too_few": tasks - of,
    }  # fmt: skip
    if not any(one.graded for one in kinds):
        found["pass_at"] = [_measure_pass(kinds, k, tasks) for k in budgets(samples)]
    return found


def budgets(samples: int) -> list[int]:
    """The k of pass@k that are told: 1, 2, 4, … and all samples."""
    return sorted({*(1 << power for power in range(samples.bit_length())), samples})


def pass_at(k: int, judged: int, right: int) -> float:
    """The chance that of k samples drawn from `judged` ones without replacement one is right, from 0 to 1.

    Unbiased: 1 - C(n - c, k) / C(n, k) (M. Chen et al., Evaluating Large Language Models Trained on Code,
    arXiv:2107.03374 (2021), eq. 1). Raises ValueError for fewer samples than k.
    """
    if not 0 < k <= judged or not 0 <= right <= judged:
        raise ValueError(f"{k} of {judged} samples, {right} of them right, cannot be drawn")
    return 1.0 - math.comb(judged - right, k) / math.comb(judged, k)


def _measure_pass(kinds: Sequence[SampleKind], k: int, tasks: int) -> dict[str, Any]:
    """Mean over the tasks with k judged samples or more, each task one observation; `too_few`: the other tasks."""
    enough = [(pass_at(k, one.judged, one.right), 1.0, one.tasks) for one in kinds if one.judged >= k]
    of = sum(count for *_, count in enough)
    value, low, high = counted_interval(enough) or (0.0, 0.0, 1.0)
    return {
        "k": k, "value": round(value, 6) if of else None, "ci95": [round(low, 6), round(high, 6)], "of": of,
        "too_few": tasks - of,
    }  # fmt: skip
