"""Compare two agents on the same tasks, if tasks have several samples, or scores from 0 to 1. A task is a cluster.

Tasks with equal sums are stored once, with their number. A *kind* of task is a row of `sums` with its count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lumos_queue.scoring.paired_tests import Z_80
from lumos_queue.scoring.statistics import Z_95
from lumos_queue.util.model_loading import import_libraries

SEED = 1947  #: of the resampling: the same pairs always give the same interval and p-value
MIN_RESAMPLES = 1_999  #: drawn for an interval or a p-value; tasks of more kinds than allow so many have no draws
MAX_RESAMPLES = 4_999  #: drawn for an interval
MAX_FLIPS = 9_999  #: drawn for a p-value
MAX_DRAWS = {"interval": 1_000_000, "p": 5_000_000}  #: kinds of tasks times resamples
MAX_EXACT = 20_000  #: the largest sum whose distribution is computed


@dataclass(frozen=True)
class Clusters:
    """Pairs of scores, summed by task.

    `sums` has a row (Σw_a, Σw_a a, Σw_b, Σw_b b) for each kind of task: the sums over the pairs of scores a and b, from
    0 to 1, of a task, with weights w_a and w_b. `counts` has the number of tasks of each kind. Raises ValueError for
    scores outside 0 to 1, and without any task.
    """

    sums: np.ndarray  #: shape (kinds, 4)
    counts: np.ndarray  #: shape (kinds,)

    def __post_init__(self) -> None:
        sums = np.asarray(self.sums, float).reshape(-1, 4)
        object.__setattr__(self, "sums", sums)
        object.__setattr__(self, "counts", np.asarray(self.counts, np.int64))
        weights, values = sums[:, ::2], sums[:, 1::2]
        fine = np.isfinite(sums).all() and np.all((weights > 0) & (values >= -1e-9) & (values <= weights + 1e-9))
        if not fine or not self.tasks:
            raise ValueError("a score is not from 0 to 1 or has no weight, or there is no score")

    @property
    def tasks(self) -> int:
        return int(self.counts.sum())

    @cached_property
    def totals(self) -> np.ndarray:
        """Σw_a, Σw_a a, Σw_b, Σw_b b over all tasks, shape (4,)."""
        return self.counts @ self.sums

    @property
    def means(self) -> tuple[float, float]:
        """Weighted mean score of A and of B."""
        weight_a, sum_a, weight_b, sum_b = self.totals
        return float(sum_a / weight_a), float(sum_b / weight_b)

    @property
    def difference(self) -> float:
        mean_a, mean_b = self.means
        return mean_b - mean_a

    @property
    def standard_error(self) -> float:
        """The standard error of the difference, clustered by task; 0 for one task.

        It is sqrt(C / (C - 1) Σ_c e_c²), where C is the number of tasks and e_c the deviation of task c. If all tasks
        have equally many samples, it is the standard deviation of the tasks' differences over sqrt(C) (E. Miller,
        Adding Error Bars to Evals, arXiv:2411.00640 (2024), 4.1 and 4.2; K.-Y. Liang, S. L. Zeger, Biometrika 73
        (1986) 13-22).
        """
        if self.tasks < 2:
            return 0.0
        return math.sqrt(self.tasks / (self.tasks - 1) * float(self.counts @ _deviations(self.sums, self.totals) ** 2))


def bootstrap_interval(
    clusters: Clusters, z: float = Z_95, max_resamples: int = MAX_RESAMPLES, least: int = MIN_RESAMPLES
) -> tuple[float, float, str]:
    """Return (low, high, method): an interval of the difference of mean scores, 95 % by default.

    The same tasks give the same interval. The number of resamples is at most `max_resamples`; if fewer than `least` are
    possible in reasonable time, nothing is resampled.

    The method 'bootstrap' is the percentile interval (B. Efron, R. J. Tibshirani, An Introduction to the Bootstrap,
    1993, 13.3). Tasks are drawn with replacement, each with all its samples and the scores of both agents. Two tasks
    are added to the observed tasks: half a task fixed and half a task broken, by the largest difference of a task (by 1
    if no task differs), and one task without a difference. For 0/1 scores, these are the half tasks in each cell of
    A. Agresti, Y. Min, Simple improved confidence intervals for comparing matched proportions, Stat. Med. 24 (2005)
    729-740. Without the added tasks, intervals of few tasks, or of many tasks that hardly differ, are far too narrow,
    also by the bias-corrected and accelerated method. The method 'standard error' uses the same tasks with the
    clustered standard error, if there are so many kinds of tasks that drawing would take long; then the two methods
    agree. For the coverage see docs/comparing.md.
    """
    weight_a, _, weight_b, _ = clusters.totals / clusters.tasks
    means_a, means_b = clusters.sums[:, 1] / clusters.sums[:, 0], clusters.sums[:, 3] / clusters.sums[:, 2]
    half = float(np.abs(means_b - means_a).max()) / 2.0 or 0.5
    terms = [(0.5 - half, 0.5 + half), (0.5 + half, 0.5 - half), (0.5, 0.5)]
    sums = np.concatenate([clusters.sums, [[weight_a, a * weight_a, weight_b, b * weight_b] for a, b in terms]])
    counts = np.concatenate([clusters.counts, [0.5, 0.5, 1.0]])
    tasks = clusters.tasks + 2
    resamples = min(max_resamples, MAX_DRAWS["interval"] // len(counts))
    if resamples < least:
        return *_wald_interval(sums, counts, tasks, z), "standard error"
    rng = np.random.default_rng(SEED)
    sample_sums = rng.multinomial(tasks, counts / tasks, size=resamples) @ sums
    differences = np.sort(sample_sums[:, 3] / sample_sums[:, 2] - sample_sums[:, 1] / sample_sums[:, 0])
    share = float(0.5 * math.erfc(z / math.sqrt(2.0)))
    low, high = np.quantile(differences, [share, 1.0 - share])
    return float(low), float(high), "bootstrap"


def _wald_interval(sums: np.ndarray, counts: np.ndarray, tasks: int, z: float) -> tuple[float, float]:
    weight_a, sum_a, weight_b, sum_b = totals = counts @ sums
    mean_a, mean_b = sum_a / weight_a, sum_b / weight_b
    deviations = _deviations(sums, totals)
    half = z * math.sqrt(tasks / (tasks - 1) * float(counts @ deviations**2))
    return float(max(-1.0, mean_b - mean_a - half)), float(min(1.0, mean_b - mean_a + half))


def _deviations(sums: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Return by how much a task of each kind changes the difference, compared with an average task.

    The contribution is linearised; the shape is (kinds,).
    """
    mean_a, mean_b = totals[1] / totals[0], totals[3] / totals[2]
    return (sums[:, 3] - sums[:, 2] * mean_b) / totals[2] - (sums[:, 1] - sums[:, 0] * mean_a) / totals[0]


def sign_flip_p(clusters: Clusters) -> tuple[float, str]:
    """Return (two-sided p-value, method) of the hypothesis that the two agents can be exchanged on every task.

    Under this hypothesis, the two agents' scores on a task could be swapped, so the signs of the tasks' differences are
    flips of a coin (R. A. Fisher, The Design of Experiments, 1935, 21; for clusters, which are flipped whole, E. W.
    Noreen, Computer-Intensive Methods for Testing Hypotheses, 1989). The method 'exact' is for 0/1 scores and counts
    all combinations of signs; with one sample per task it is McNemar's exact test. 'random' draws random signs and adds
    the observed signs (B. Phipson, G. K. Smyth, Stat. Appl. Genet. Mol. Biol. 9 (2010) 39). 'normal' uses the variance
    of the sum over all signs, if there are too many kinds of differences to draw signs.
    """
    weight_a, sum_a, weight_b, sum_b = clusters.sums.T
    ones = bool(np.all(clusters.sums == np.rint(clusters.sums)) and np.all(weight_a == weight_b))
    differences = sum_b - sum_a if ones else sum_b - sum_a * clusters.totals[2] / clusters.totals[0]
    total = abs(float(clusters.counts @ differences))
    sizes, indexes = np.unique(np.abs(differences), return_inverse=True)
    counts = np.bincount(indexes, weights=clusters.counts).astype(np.int64)
    sizes, counts = sizes[sizes > 1e-12], counts[sizes > 1e-12]
    if not len(sizes):
        return 1.0, "exact"
    if ones and counts @ sizes <= MAX_EXACT:
        return _exact_p(sizes.astype(np.int64), counts, round(total)), "exact"
    resamples = min(MAX_FLIPS, MAX_DRAWS["p"] // len(sizes))
    if resamples < MIN_RESAMPLES:
        return math.erfc(total / math.sqrt(2.0 * float(counts @ sizes**2))), "normal"
    rng = np.random.default_rng(SEED)
    flipped_sums = np.zeros(resamples)
    for size, count in zip(sizes, counts, strict=True):
        flipped_sums += size * (2.0 * rng.binomial(count, 0.5, resamples) - count)
    hits = int(np.count_nonzero(np.abs(flipped_sums) >= total - 1e-9 * max(1.0, total)))
    return (1 + hits) / (1 + resamples), "random"


def _exact_p(sizes: np.ndarray, counts: np.ndarray, total: int) -> float:
    """Return the probability that a sum is at least `total` in size, if the signs of its terms are equally likely.

    The sum has `counts` terms of each whole size in `sizes`.
    """
    with import_libraries("scipy.special.gammaln"):
        from scipy.special import gammaln

    chances = np.ones(1)  # of the sum of the terms that are positive
    for size, count in zip(sizes, counts, strict=True):
        positive = np.arange(count + 1)
        logs = gammaln(count + 1) - gammaln(positive + 1) - gammaln(count - positive + 1) - count * math.log(2.0)
        spread = np.zeros(count * size + 1)
        spread[::size] = np.exp(logs)
        chances = np.convolve(chances, spread)
    sums = 2 * np.arange(len(chances)) - len(chances) + 1
    return min(1.0, float(chances[np.abs(sums) >= total].sum()))


def tasks_needed(clusters: Clusters, z: float = Z_95, z_power: float = Z_80) -> int | None:
    """Return the number of tasks with which this difference is detected in 80 of 100 cases; None without a difference.

    Each task is assumed to have as many samples as the tasks of `clusters`. The number is (z + z_power)^2 times the
    variance of a task's difference, divided by the squared difference (Miller 2024, section 5).
    """
    error, difference = clusters.standard_error, clusters.difference
    if not difference:
        return None
    return max(2, math.ceil((z + z_power) ** 2 * clusters.tasks * error**2 / difference**2))
