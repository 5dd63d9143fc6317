"""Samples of published data sets before augmentation, and the sets that they come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from lumos_queue.benchmarks.openagi.builder.files import DataFile, FileIndex

MAX_ID = 100  #: characters of a sample's id
MAX_TEXT = 60_000  #: characters: limit of the texts that experts take


@dataclass(frozen=True, slots=True)
class PublishedSample:
    """A sample with its reference output in English. Texts are stripped and not empty."""

    id: str  #: identifies it in its data set
    target: str
    texts: Mapping[str, str] = field(default_factory=dict)  #: by channel: 'text', 'document', 'question'
    picture: DataFile | None = None

    @property
    def longest(self) -> int:
        """The number of characters of its longest text."""
        return max(len(text) for text in (self.target, *self.texts.values()))


@dataclass(frozen=True, slots=True)
class PublishedSet:
    """What was read of a data set, in its published order."""

    samples: Sequence[PublishedSample]
    files: Sequence[DataFile]  #: annotations and lists, without pictures
    excluded: Mapping[str, str] = field(default_factory=dict)  #: id of each row that is no sample to the reason
    pictures_problem: str = ""  #: the reason why no sample has a picture


@dataclass(frozen=True, slots=True)
class SetReader:
    """Reads a data set in its published layout."""

    layout: str  #: the names of its files, for messages
    licence: str  #: as its publishers state it
    has_pictures: bool
    read: Callable[[FileIndex], PublishedSet]  #: raises UnusableSet
