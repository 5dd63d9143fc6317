"""Measure a metric over sample sets: the mean of each set, the mean and spread of these means, and an interval."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import fsum
from statistics import stdev

from lumos_queue.scoring.statistics import compute_weighted_interval


@dataclass(frozen=True, slots=True)
class SetMeans:
    """A metric over sample sets (scoring/sample_sets.py)."""

    means: tuple[float, ...]  #: of set 0, 1, …
    mean: float  #: of the means
    spread: float | None  #: their standard deviation (n - 1); None for one set
    low: float  #: 95 % interval of the mean
    high: float


def set_means(values: Sequence[tuple[Hashable, Sequence[int], float]]) -> SetMeans:
    """Return the means over sample sets. `values` has (task, numbers of its sets, score from 0 to 1) for each sample.

    The interval is for the benchmark from which the sets were sampled. A task in two sets is one observation with a
    weight of two: a cluster whose weight is the number of its sets (compute_weighted_interval). The spread says less,
    because overlapping sets differ less than independent sets. Raises ValueError if there is no value.
    """
    by_set: dict[int, list[float]] = defaultdict(list)
    for _, sets, value in values:
        for number in sets:
            by_set[number].append(value)
    interval = compute_weighted_interval([(task, value, len(sets)) for task, sets, value in values])
    if interval is None:
        raise ValueError("no task is in any set")
    means = tuple(fsum(by_set[number]) / len(by_set[number]) for number in sorted(by_set))
    mean, low, high = interval
    return SetMeans(means, mean, stdev(means) if len(means) > 1 else None, low, high)
