"""Find the originals of generated inputs, before augmentation. `oracle:` experts return them.

A benchmark that generates its data registers its originals here under its name. A task contains the name of its
benchmark, so actions find the originals without importing the benchmark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from lumos_queue.experts.base import Expert
from lumos_queue.util.registry import Registry

MAX_SAMPLE = 10**9  #: numbers of samples are smaller


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a value: a sample, its augmentations, and the experts that have run on it."""

    source: str  #: the generated data set of the sample: 'captions'
    split: str  #: of the data set
    number: int  #: of the sample, from 0
    channel: str  #: of the sample: 'image'
    profile: str = "released"  #: the strength of the augmentations
    augmentations: tuple[str, ...] = ()  #: those that no expert has undone
    experts: tuple[str, ...] = ()  #: the heads that ran, in order: 'Image Captioning', 'Machine Translation'

    def as_json(self) -> list[Any]:
        identity = (self.source, self.split, self.number, self.channel, self.profile)
        return [*identity, list(self.augmentations), list(self.experts)]


class Originals(Protocol):
    """The originals of one benchmark."""

    def load(self, origin: Origin) -> bytes:
        """Return the sample with the origin's augmentations, as PNG or UTF-8. The origin's `experts` must be ().

        Raises LookupError or ValueError for an unknown sample.
        """
        ...

    def answer(self, origin: Origin) -> bytes | None:
        """Return the reference output of the origin's experts, run one after the other on the clean sample.

        Return None if there is no reference.
        """
        ...


ORIGINALS: Registry[Originals] = Registry(
    "set of originals", {"openagi": "lumos_queue.benchmarks.openagi.originals:ORIGINALS"}
)


def read_origin(value: object) -> Origin | None:
    """Return the origin that `as_json` wrote; None for anything else."""
    match value:
        case [str(source), str(split), int(number), str(channel), str(profile), [*augmentations], [*experts]]:
            texts = all(isinstance(name, str) for name in (*augmentations, *experts))
            if texts and 0 <= number < MAX_SAMPLE:
                return Origin(source, split, number, channel, profile, tuple(augmentations), tuple(experts))
    return None


def origins_of_channel(sources: object, channel: str, samples: int) -> tuple[Origin | None, ...]:
    """Return the origin of each value of a channel, from the task's input `sources`; None for an unknown origin."""
    for source in sources if isinstance(sources, list) else ():
        if isinstance(source, Mapping) and source.get("channel") == channel:
            numbers = sample_numbers if isinstance(sample_numbers := source.get("samples"), list) else []
            split, profile = source.get("split", "test"), source.get("profile", "released")
            augmentations = source.get("augmentations", [])
            origins = [
                read_origin([source.get("source"), split, n, channel, profile, augmentations, []]) for n in numbers
            ]
            return tuple(origins) if len(origins) == samples else (None,) * samples
    return (None,) * samples


def follow(expert: Expert, origins: Sequence[Origin | None], originals: Originals) -> Origin | None:
    """Return the origin of the output that a perfect expert has for these inputs; None if the output has no original.

    An expert that undoes an augmentation keeps the other augmentations. The inputs of any other expert must have no
    augmentations left and belong to the same sample.
    """
    first = origins[0]
    if first is None:
        return None
    if expert.undoes:
        augmentations = tuple(augmentation for augmentation in first.augmentations if augmentation != expert.undoes)
        return replace(first, augmentations=augmentations)
    sample = (first.source, first.split, first.number)
    for origin in origins:
        if origin is None or origin.augmentations or (origin.source, origin.split, origin.number) != sample:
            return None
    after = replace(first, experts=(*first.experts, expert.name))
    return after if originals.answer(after) is not None else None
