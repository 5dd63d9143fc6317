"""Figures of a job with several samples of each task: flip rate, pass@k and maj@k."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from db.engine.connection import Connection
from db.queries.samples import SampleKind, TaskSamples, sample_kinds, stream_samples
from db.queue.stored_jobs import StoredJob
from lumos_queue.prompts.choice_text import split_choices
from lumos_queue.reports.json_values import OPTIONAL
from lumos_queue.reports.score_values import Range
from lumos_queue.reports.scores import samples_of
from lumos_queue.scoring.answer_kinds import AnswerKind
from lumos_queue.scoring.majority import majority_at, read_vote
from lumos_queue.scoring.statistics import compute_counted_interval, wilson

MAX_VOTED = 200_000  #: limit of the items of a job whose answers are read for the majority vote: about a second


@dataclass(frozen=True, slots=True)
class FlipRate:
    """The share of tasks whose judged samples have different scores, with Wilson's interval."""

    rate: float | None  #: None without tasks
    ci95: Range
    flipped: int
    of: int  #: tasks with two or more judged samples
    too_few: int  #: tasks with fewer


@dataclass(frozen=True, slots=True)
class ShareAt:
    """pass@k or maj@k: a mean over tasks."""

    k: int
    value: float | None  #: None without tasks
    ci95: Range
    of: int  #: tasks with k or more judged samples
    too_few: int  #: tasks with fewer


@dataclass(frozen=True, slots=True)
class SampleFigures:
    """The figures of a job with several samples of each task."""

    metric: str
    n: int  #: samples of a task
    tasks: int
    flips: FlipRate
    pass_at: Sequence[ShareAt] | None = field(default=None, metadata=OPTIONAL)  #: None unless all scores are 0 or 1
    majority_at: Sequence[ShareAt] | None = field(default=None, metadata=OPTIONAL)


def sample_figures(
    connection: Connection, job: StoredJob, metric: str, kind: AnswerKind | None
) -> SampleFigures | None:
    """Return flip rate, pass@k and maj@k of a job by a metric; None for one sample of each task.

    `kind` is the kind of the benchmark's answers. It is None if the benchmark judges more than the answer; then there
    is no maj@k.
    """
    samples = samples_of(job)
    if samples < 2:
        return None
    figures = measure_samples(sample_kinds(connection, job.id, metric), metric, samples, job.items)
    if kind is not None and figures.pass_at is not None and job.items <= MAX_VOTED:
        tasks = stream_samples(connection, job.id, metric)
        return replace(figures, majority_at=measure_majority(tasks, kind, samples, job.items // samples))
    return figures


def measure_majority(tasks: Iterable[TaskSamples], kind: AnswerKind, samples: int, count: int) -> list[ShareAt]:
    """Return maj@k for each k from 2 on, over the tasks that have k or more judged samples.

    `count` is the number of all tasks of the job. A task is one observation: its mean over groups of k samples
    (scoring/majority.py).
    """
    numbers = [k for k in budgets(samples) if k > 1]
    values: dict[int, Counter[float]] = {k: Counter() for k in numbers}
    for task in tasks:
        choices = split_choices(task.question)[1] if kind == AnswerKind.CHOICE else ()
        votes = [read_vote(answer, kind, choices) for answer in task.answers]
        for k in numbers:
            if k <= len(votes):
                values[k][majority_at(k, votes, task.scores)] += 1
    return [_describe_share(k, [(value, 1.0, number) for value, number in values[k].items()], count) for k in numbers]


def measure_samples(kinds: Sequence[SampleKind], metric: str, samples: int, items: int) -> SampleFigures:
    """Return flip rate and pass@k over the `items` / `samples` tasks. Samples that are not judged do not count.

    Of the tasks with two or more judged samples, the flip rate is the share whose samples have different scores; its
    interval is Wilson's. There is pass@k only if all scores are 0 or 1.
    """
    tasks = items // samples
    repeated_kinds = [kind for kind in kinds if kind.judged > 1]
    of, flip_count = (
        sum(kind.tasks for kind in repeated_kinds),
        sum(kind.tasks for kind in repeated_kinds if not kind.alike),
    )
    low, high = wilson(flip_count, of)
    rate = round(flip_count / of, 6) if of else None
    flips = FlipRate(rate, (round(low, 6), round(high, 6)), flip_count, of, tasks - of)
    has_grades = any(kind.graded for kind in kinds)
    pass_at = None if has_grades else [_measure_pass(kinds, k, tasks) for k in budgets(samples)]
    return SampleFigures(metric, samples, tasks, flips, pass_at)


def budgets(samples: int) -> list[int]:
    """Return the values of k for pass@k: 1, 2, 4, … and all samples."""
    return sorted({*(1 << power for power in range(samples.bit_length())), samples})


def pass_at(k: int, samples: int, right: int) -> float:
    """Return the probability that at least one of k samples is right, if they are drawn without replacement.

    `samples` is the number of all samples, `right` that of the right samples. The estimate is unbiased:
    1 - C(n - c, k) / C(n, k) (M. Chen et al., Evaluating Large Language Models Trained on Code, arXiv:2107.03374
    (2021), eq. 1). Raises ValueError for fewer samples than k.
    """
    if not 0 < k <= samples or not 0 <= right <= samples:
        raise ValueError(f"{k} of {samples} samples, {right} of them right, cannot be drawn")
    return 1.0 - math.comb(samples - right, k) / math.comb(samples, k)


def _measure_pass(kinds: Sequence[SampleKind], k: int, tasks: int) -> ShareAt:
    """Return pass@k, a mean over tasks with k or more judged samples; `too_few` counts tasks with fewer samples."""
    return _describe_share(
        k, [(pass_at(k, kind.judged, kind.right), 1.0, kind.tasks) for kind in kinds if kind.judged >= k], tasks
    )


def _describe_share(k: int, groups: Sequence[tuple[float, float, int]], tasks: int) -> ShareAt:
    """Return the mean of `groups`, which are (value, weight, number of tasks), with its interval."""
    of = sum(count for *_, count in groups)
    value, low, high = compute_counted_interval(groups) or (0.0, 0.0, 1.0)
    return ShareAt(k, round(value, 6) if of else None, (round(low, 6), round(high, 6)), of, tasks - of)
