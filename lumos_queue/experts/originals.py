"""What generated inputs were before they were changed, which is what `oracle:` experts give back.

A benchmark that generates its data registers its originals here by its name; actions know the benchmark's name from the
task, and import nothing of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from lumos_queue.experts.base import Expert
from lumos_queue.util.registry import Registry

MAX_SAMPLE = 10**9  #: numbers of samples are below it


@dataclass(frozen=True, slots=True)
class Origin:
    """Where one value comes from: a sample, what was done to it, and what experts have made of it since."""

    source: str  #: the generated set of data that the sample is of: 'captions'
    split: str  #: its part of that set
    number: int  #: of the sample, counted from 0
    channel: str  #: of the sample: 'image'
    profile: str = "released"  #: how strongly it was changed
    augmentations: tuple[str, ...] = ()  #: that are still to be undone
    experts: tuple[str, ...] = ()  #: the heads that ran, in order: 'Image Captioning', 'Machine Translation'

    def as_json(self) -> list[Any]:
        named = (self.source, self.split, self.number, self.channel, self.profile)
        return [*named, list(self.augmentations), list(self.experts)]


class Originals(Protocol):
    """The originals of one benchmark."""

    def load(self, origin: Origin) -> bytes:
        """The sample with the augmentations of the origin, whose `experts` are (): PNG or UTF-8.

        Raises LookupError or ValueError for a sample that there is not.
        """
        ...

    def answer(self, origin: Origin) -> bytes | None:
        """What the last of its experts makes of the clean sample after the others, as the reference has it.

        None where no reference says so.
        """
        ...


ORIGINALS: Registry[Originals] = Registry(
    "set of originals", {"openagi": "lumos_queue.benchmarks.openagi.originals:ORIGINALS"}
)


def read_origin(value: object) -> Origin | None:
    """The origin that `as_json` wrote; None for anything else."""
    match value:
        case [str(source), str(split), int(number), str(channel), str(profile), [*changed], [*experts]]:
            texts = all(isinstance(one, str) for one in (*changed, *experts))
            if texts and 0 <= number < MAX_SAMPLE:
                return Origin(source, split, number, channel, profile, tuple(changed), tuple(experts))
    return None


def origins_of_channel(sources: object, channel: str, samples: int) -> tuple[Origin | None, ...]:
    """The origins of a channel's values, from the task's input `sources`; None for each where it does not say."""
    for one in sources if isinstance(sources, list) else ():
        if isinstance(one, Mapping) and one.get("channel") == channel:
            numbers = listed if isinstance(listed := one.get("samples"), list) else []
            split, profile = one.get("split", "test"), one.get("profile", "released")
            changed = one.get("augmentations", [])
            found = [read_origin([one.get("source"), split, n, channel, profile, changed, []]) for n in numbers]
            return tuple(found) if len(found) == samples else (None,) * samples
    return (None,) * samples


def follow(expert: Expert, origins: Sequence[Origin | None], originals: Originals) -> Origin | None:
    """Where the expert's output comes from, if it does all that it is for; None where no original says what it is.

    One that undoes an augmentation leaves anything else as it is. A head needs its inputs to be clean, and of the same
    sample.
    """
    first = origins[0]
    if first is None:
        return None
    if expert.undoes:
        left = tuple(one for one in first.augmentations if one != expert.undoes)
        return replace(first, augmentations=left)
    sample = (first.source, first.split, first.number)
    for one in origins:
        if one is None or one.augmentations or (one.source, one.split, one.number) != sample:
            return None
    after = replace(first, experts=(*first.experts, expert.name))
    return after if originals.answer(after) is not None else None
