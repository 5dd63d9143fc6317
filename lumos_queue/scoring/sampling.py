"""Draw a stratified sample of annotations, or of runs, for people to judge.

Strata of annotations are benchmark × check level × number of subgoals (1-2, 3-4, 5 or more), because the acceptance
check depends on these, or benchmark × other properties (annotation_strata.py). Strata of runs are benchmark × score
(right, wrong, none) × number of subgoals. A stratum's share of the sample is proportional to its share of the
population, but the sample has at least one member of it, or as many as are asked for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from lumos_queue.errors import SpecError
from lumos_queue.scoring.annotation_strata import DEFAULT_KEYS, StratumKey, name_notes

GRADE = "grade"  #: the metric of answers that a judge grades (benchmarks/from_file/judge_votes.py)
MIDDLE = 0.5  #: of a judge's scale


class AuditKind(StrEnum):
    """What the members of an audit are. The labels of people measure them."""

    ANNOTATIONS = "annotations"  #: accepted annotations: the precision of the acceptance check
    RUNS = "runs"  #: episodes of evaluations and inferences: the share that is right, and whether the metric says so


@dataclass(frozen=True, slots=True)
class SampledEpisode:
    """An episode that was drawn into a sample."""

    number: int  #: from 1, in the order they are shown
    episode: int
    stratum: str
    weight: float  #: members of the population that this one represents
    labels_wanted: int = 1  #: 2: two people label it


def stratum_of(
    benchmark: str,
    level: str,
    subgoals: int,
    rule: str = "",
    notes: Iterable[str] = (),
    keys: Sequence[StratumKey] = DEFAULT_KEYS,
) -> str:
    """Return the stratum's name, for example `gsm8k · executed · 3-4 subgoals`.

    It has the properties of `keys`, in the order of StratumKey. `rule` is a name of annotation_strata.name_rule, and
    `notes` are the names of verdicts that reject nothing.
    """
    band = "1-2" if subgoals <= 2 else "3-4" if subgoals <= 4 else "5+"
    names = {
        StratumKey.LEVEL: level,
        StratumKey.SUBGOALS: f"{band} subgoals",
        StratumKey.RULE: rule,
        StratumKey.NOTE: name_notes(notes),
    }
    return " · ".join([benchmark, *(name for key, name in names.items() if key in keys)])


def decide_verdict(score: float | None, metric: str = "") -> str:
    """Return the verdict of a score as a label, `right` or `wrong`; '' without a score.

    A judge's grade means right in the middle of its scale or above. A score by any other metric means right if it is 1.
    """
    side = side_of(score, metric)
    return "" if side is None else "right" if side >= 1 else "wrong"


def side_of(score: float | None, metric: str) -> float | None:
    """Return 1 for a judge's grade in the middle of its scale or above, else 0; other scores are unchanged."""
    return score if score is None or metric != GRADE else float(score >= MIDDLE)


def stratum_of_run(benchmark: str, score: float | None, subgoals: int) -> str:
    """Return the stratum's name, for example `gsm8k · wrong · 3-4 subgoals`."""
    band = "no" if not subgoals else "1-2" if subgoals <= 2 else "3-4" if subgoals <= 4 else "5+"
    return f"{benchmark} · {decide_verdict(score) or 'no score'} · {band} subgoals"


def allocate(sizes: Mapping[str, int], size: int, at_least: int = 1) -> dict[str, int]:
    """Return how many members to draw from each stratum: in proportion to its size, and `at_least` so many or all.

    The numbers are the whole numbers closest to the exact shares (largest remainders); ties go to the first name. The
    whole population is drawn if it is not larger than `size`. Raises SpecError if `size` is too small for `at_least`.
    """
    sizes = {name: sizes[name] for name in sorted(sizes) if sizes[name]}
    population = sum(sizes.values())
    if population <= size:
        return sizes
    floors = {name: min(at_least, count) for name, count in sizes.items()}
    if (required_size := sum(floors.values())) > size:
        members = "one member" if at_least == 1 else f"{at_least:,} members"
        raise SpecError(
            f"A sample of {size} is too small for {members} of each of the {len(sizes)} strata: give --size "
            f"{required_size} or more."
        )
    exact = {name: Fraction(size * count, population) for name, count in sizes.items()}
    stratum_sizes = {name: max(floors[name], int(share)) for name, share in exact.items()}
    while (shortfall := size - sum(stratum_sizes.values())) > 0:
        open_ = (name for name in sizes if stratum_sizes[name] < sizes[name])
        stratum_sizes[max(open_, key=lambda name: exact[name] - stratum_sizes[name])] += 1
    for _ in range(-shortfall):  # the floors gave away more than there was
        several = (name for name in sizes if stratum_sizes[name] > floors[name])
        stratum_sizes[min(several, key=lambda name: exact[name] - stratum_sizes[name])] -= 1
    return stratum_sizes


def sample_strata(
    strata: Mapping[str, Sequence[int]], size: int, seed: int, twice: float = 0.0, at_least: int = 1
) -> list[SampledEpisode]:
    """Return a sample of the episodes in `strata`. The same seed gives the same sample in every version of Python.

    The order mixes the strata, so that the first episodes to judge come from all strata. `twice` is the share of the
    sample that two people label; unless it is 0, at least one episode is. `at_least`: the members of each stratum, as
    in `allocate`. Raises SpecError for a share that is not from 0 to 1, and if `size` is too small for the strata.
    """
    if not 0 <= twice <= 1:
        raise SpecError(f"The share of items that are labelled twice is {twice}: expected 0 to 1, as in 0.2.")
    counts = allocate({name: len(members) for name, members in strata.items()}, size, at_least)
    sample = []
    for name, count in counts.items():
        members = sorted(strata[name], key=lambda episode: _chance("member", seed, episode))
        sample += [(episode, name, len(members) / count) for episode in members[:count]]
    sample.sort(key=lambda pair: _chance("place", seed, pair[0]))
    count = max(1, round(twice * len(sample))) if twice else 0
    shared_episodes = set(
        sorted((pair[0] for pair in sample), key=lambda episode: _chance("twice", seed, episode))[:count]
    )
    return [
        SampledEpisode(position, *pair, labels_wanted=2 if pair[0] in shared_episodes else 1)
        for position, pair in enumerate(sample, start=1)
    ]


def _chance(of: str, seed: int, episode: int) -> bytes:
    """Return a pseudo-random key that depends only on the arguments."""
    return hashlib.sha256(f"audit {of} {seed} {episode}".encode()).digest()
