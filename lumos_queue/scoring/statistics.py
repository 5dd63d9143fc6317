"""Compute confidence intervals of measured shares, and the agreement of labellers."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

Z_95 = 1.959963984540054  #: the 97.5 % point of the normal distribution


def wilson(correct: int, n: int, z: float = Z_95) -> tuple[float, float]:
    """Return the Wilson score interval of a share, 95 % by default; (0, 1) if n is 0.

    E. B. Wilson, Probable inference, the law of succession, and statistical inference, JASA 22 (1927) 209-212.
    Without continuity correction. Raises ValueError unless 0 <= correct <= n.
    """
    if not 0 <= correct <= n:
        raise ValueError(f"{correct} of {n} is not a share")
    return _wilson(correct / n, n, z) if n else (0.0, 1.0)


def _wilson(share: float, n: float, z: float) -> tuple[float, float]:
    centre = share + z * z / (2 * n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    low = 0.0 if share == 0 else (centre - half) / scale
    high = 1.0 if share == 1 else (centre + half) / scale
    return low, high


@dataclass(frozen=True, slots=True)
class Stratum:
    """A part of a population with a judged sample."""

    population: float  #: members of the population in it
    judged: int
    right: int  #: of those judged


def estimate_share(strata: Sequence[Stratum], z: float = Z_95) -> tuple[float, float, float] | None:
    """Return (share, low, high) of the right members of the population; None if nothing was judged.

    The share is the mean of the strata's shares, weighted by their population W (W. G. Cochran, Sampling Techniques,
    3rd ed. 1977, eq. 5.1). The interval is Wilson's at the effective sample size, as C. Franco, R. J. A. Little, T. A.
    Louis and E. V. Slud compare in J. Survey Stat. Methodol. 7 (2019) 334-364. This size is p(1-p) over the stratified
    variance Σ W²p(1-p)/n, but at most Kish's 1/Σ(W²/n), which a few judgements that all agree do not mislead. If every
    judged member represents equally many members, the size is n, and the interval is Wilson's of the plain counts. The
    population counts as infinite. Strata without a judged member are left out, also from the share.
    """
    for stratum in strata:
        if not 0 <= stratum.right <= stratum.judged or stratum.population < 0:
            raise ValueError(f"{stratum} is not a stratum")
    judged_strata = [stratum for stratum in strata if stratum.judged and stratum.population]
    if not judged_strata:
        return None
    total = math.fsum(stratum.population for stratum in judged_strata)
    parts = [(stratum.population / total, stratum.right / stratum.judged, stratum.judged) for stratum in judged_strata]
    share = 1.0 if all(p == 1 for _, p, _ in parts) else math.fsum(weight * p for weight, p, _ in parts)
    size = 1 / math.fsum(weight * weight / n for weight, _, n in parts)
    variance = math.fsum(weight * weight * p * (1 - p) / n for weight, p, n in parts)
    if variance:
        size = min(size, share * (1 - share) / variance)
    return share, *_wilson(share, size, z)


#: Clusters that vary as much as clusters can, added to those seen when their variance is estimated: about z². Fewer
#: would be misled by two or three that agree by chance; none would give an interval of no width where all agree.
_PRIOR_CLUSTERS = 4.0


def compute_weighted_interval(
    values: Sequence[tuple[Hashable, float, float]], z: float = Z_95
) -> tuple[float, float, float] | None:
    """Return (share, low, high) from (cluster, value, weight) triples, with values from 0 to 1; None without weight.

    The share is the ratio Σwv / Σw. Triples of the same cluster are not independent. They are the samples of a task,
    the steps of a task (the weight is their number), or a task in several sample sets (the weight is their number).
    The variance is that of a ratio estimator, linearised and clustered, Σ_c (Σ_{i in c} w(v - share))² / (Σw)²
    (W. G. Cochran, Sampling Techniques, 3rd ed. 1977, chapter 6; L. Kish, Survey Sampling, 1965, chapter 6), without
    the factor C/(C-1) and for an infinite population. The interval is Wilson's at the effective sample size,
    share (1 - share) / variance. Because few clusters may agree by chance, the variance is first moved towards that of
    clusters of zeros and ones whose members all agree, of which there are K = (Σw)² / Σ_c w_c² in effect (Kish), as if
    there were _PRIOR_CLUSTERS more clusters; it is never made smaller. So the size is K if all values are 0 or all are
    1. It is n for n unclustered zeros and ones of equal weight (which gives Wilson's own interval), more than K if
    values are between 0 and 1, and always at least Σw over the heaviest cluster's weight.
    Raises ValueError for a value outside 0 to 1, or a weight that is negative.
    """
    weights: dict[Hashable, float] = defaultdict(float)
    for cluster, value, weight in values:
        _check_share(value, weight)
        weights[cluster] += weight
    total = math.fsum(weights.values())
    if not total:
        return None
    weighted = [(cluster, value, weight) for cluster, value, weight in values if weight]
    if len({value for _, value, _ in weighted}) == 1:  # else rounding makes 0.9999999999999999 of ones
        share = weighted[0][1]
    else:
        share = math.fsum(weight * value for _, value, weight in weighted) / total
    deviations: dict[Hashable, float] = defaultdict(float)
    for cluster, value, weight in weighted:
        deviations[cluster] += weight * (value - share)
    squares = math.fsum(weight * weight for weight in weights.values())
    return cluster_interval(
        share, total, squares, math.fsum(deviation * deviation for deviation in deviations.values()), len(deviations), z
    )


def compute_counted_interval(
    groups: Sequence[tuple[float, float, int]], z: float = Z_95
) -> tuple[float, float, float] | None:
    """Return `compute_weighted_interval` of values without clusters, from (value, weight, number of values) triples."""
    for value, weight, _ in groups:
        _check_share(value, weight)
    weighted_groups = [group for group in groups if group[1] and group[2]]
    total = math.fsum(weight * count for _, weight, count in weighted_groups)
    if not total:
        return None
    if len({value for value, _, _ in weighted_groups}) == 1:
        share = weighted_groups[0][0]
    else:
        share = math.fsum(weight * value * count for value, weight, count in weighted_groups) / total
    squares = math.fsum(weight * weight * count for _, weight, count in weighted_groups)
    deviations = math.fsum((weight * (value - share)) ** 2 * count for value, weight, count in weighted_groups)
    return cluster_interval(share, total, squares, deviations, sum(count for *_, count in weighted_groups), z)


def _check_share(value: float, weight: float) -> None:
    if not 0 <= value <= 1 or not 0 <= weight < math.inf:
        raise ValueError(f"value {value} with weight {weight} is not a share")


def cluster_interval(
    share: float, total: float, squares: float, deviations: float, clusters: int, z: float
) -> tuple[float, float, float]:
    """Return the interval of `compute_weighted_interval` from sums.

    `total` is Σw. `squares` and `deviations` are sums over clusters: Σ (Σw)² and Σ (Σ w(v - share))².
    """
    size = total * total / squares
    if max_variance := share * (1 - share):
        variance = deviations / (total * total)
        design_effect = variance * size / max_variance  # 1: as clusters whose members all agree
        size /= max(design_effect, (clusters * design_effect + _PRIOR_CLUSTERS) / (clusters + _PRIOR_CLUSTERS))
    return share, *_wilson(share, size, z)


def cohen_kappa(pairs: Sequence[tuple[str, str]]) -> float | None:
    """Return the agreement of two labellers beyond chance: 1 if they always agree, 0 for agreement by chance.

    `pairs` has their labels of the same items. J. Cohen, A coefficient of agreement for nominal scales, Educ. Psychol.
    Meas. 20 (1960) 37-46. Return None if kappa is not defined: without items, or if both labellers use the same single
    label, so that they would always agree by chance.
    """
    n = len(pairs)
    first, second = Counter(left for left, _ in pairs), Counter(right for _, right in pairs)
    by_chance = sum(first[label] * second[label] for label in first)  # of n² pairs of labels drawn apart
    if by_chance == n * n:
        return None
    agreement = sum(left == right for left, right in pairs)
    return (agreement * n - by_chance) / (n * n - by_chance)


def kappa_interval(pairs: Sequence[tuple[str, str]], z: float = Z_95) -> tuple[float, float] | None:
    """Return the interval of `cohen_kappa`, within -1 to 1; None if kappa is not defined.

    It uses the standard error of J. L. Fleiss, J. Cohen and B. S. Everitt, Large sample standard errors of kappa and
    weighted kappa, Psychol. Bull. 72 (1969) 323-327. The error is 0 if two labellers agree on every item, even on
    few items. In that case the lower end is kappa at the lower end of the Wilson interval of the share of agreements,
    with unchanged agreement by chance.
    """
    kappa = cohen_kappa(pairs)
    if kappa is None:
        return None
    n = len(pairs)
    first, second = Counter(left for left, _ in pairs), Counter(right for _, right in pairs)
    by_chance = math.fsum(first[label] * second[label] for label in first) / (n * n)
    if all(left == right for left, right in pairs):
        return (wilson(n, n, z)[0] - by_chance) / (1 - by_chance), 1.0
    disagreement = 1 - kappa
    same, other_than = 0.0, 0.0
    for (left, right), count in Counter(pairs).items():
        if left == right:
            same += count / n * (1 - (first[left] + second[left]) / n * disagreement) ** 2
        else:  # of the first's marginal share of the second's label, and the other way round
            other_than += count / n * ((first[right] + second[left]) / n) ** 2
    variance = same + disagreement**2 * other_than - (kappa - by_chance * disagreement) ** 2
    half = z * math.sqrt(max(0.0, variance) / n) / (1 - by_chance)
    return max(-1.0, kappa - half), min(1.0, kappa + half)
