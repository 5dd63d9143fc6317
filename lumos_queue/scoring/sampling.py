"""Drawing a stratified sample of annotations for people to judge.

Strata are benchmark × check level × number of subgoals (1-2, 3-4, 5 or more): what the acceptance check depends on.
Each gets a share of the sample that is proportional to its share of the population, and at least one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from lumos_queue.errors import SpecError


@dataclass(frozen=True, slots=True)
class SampledEpisode:
    """One member of a sample."""

    place: int  #: from 1, in the order they are shown
    episode: int
    stratum: str
    weight: float  #: members of the population that this one represents


def stratum_of(benchmark: str, level: str, subgoals: int) -> str:
    """The stratum's name, for example `gsm8k · executed · 3-4 subgoals`."""
    band = "1-2" if subgoals <= 2 else "3-4" if subgoals <= 4 else "5+"
    return f"{benchmark} · {level} · {band} subgoals"


def allocate(sizes: Mapping[str, int], size: int) -> dict[str, int]:
    """How many to draw from each stratum: in proportion to its size, at least one, never more than it has.

    Whole numbers closest to the exact shares (largest remainders); of equals the first by name. All of the population
    when it is no larger than `size`. Raises SpecError when there are more strata than `size`.
    """
    sizes = {name: sizes[name] for name in sorted(sizes) if sizes[name]}
    population = sum(sizes.values())
    if population <= size:
        return sizes
    if len(sizes) > size:
        raise SpecError(
            f"A sample of {size} cannot hold one of each of the {len(sizes)} strata: give --size {len(sizes)} or more."
        )
    exact = {name: Fraction(size * count, population) for name, count in sizes.items()}
    drawn = {name: max(1, int(share)) for name, share in exact.items()}
    while (missing := size - sum(drawn.values())) > 0:
        open_ = (name for name in sizes if drawn[name] < sizes[name])
        drawn[max(open_, key=lambda name: exact[name] - drawn[name])] += 1
    for _ in range(-missing):  # `at least one` gave away more than there was
        several = (name for name in sizes if drawn[name] > 1)
        drawn[min(several, key=lambda name: exact[name] - drawn[name])] -= 1
    return drawn


def draw(strata: Mapping[str, Sequence[int]], size: int, seed: int) -> list[SampledEpisode]:
    """A sample of the episodes in `strata`, the same for the same seed whatever the version of Python.

    The order mixes the strata, so that those judged first are of all of them. Raises SpecError as `allocate` does.
    """
    counts = allocate({name: len(members) for name, members in strata.items()}, size)
    chosen = []
    for name, count in counts.items():
        members = sorted(strata[name], key=lambda episode: _chance("member", seed, episode))
        chosen += [(episode, name, len(members) / count) for episode in members[:count]]
    chosen.sort(key=lambda one: _chance("place", seed, one[0]))
    return [SampledEpisode(place, *one) for place, one in enumerate(chosen, start=1)]


def _chance(of: str, seed: int, episode: int) -> bytes:
    """A random value that depends on these three alone."""
    return hashlib.sha256(f"audit {of} {seed} {episode}".encode()).digest()
