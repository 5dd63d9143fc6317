"""Draw the samples of a data set with a seed, and prepare their pictures.

A sample that cannot be used, for example because its picture is damaged, is left out with its reason, and the next one
of the drawn order takes its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from lumos_queue.benchmarks.openagi.builder.files import UnusableSet
from lumos_queue.benchmarks.openagi.builder.pictures import UnusablePicture, read_pixels, write_jpeg
from lumos_queue.benchmarks.openagi.builder.samples import MAX_TEXT, PublishedSample, PublishedSet
from lumos_queue.benchmarks.openagi.data.augmentations import CLOZED, mask_token
from lumos_queue.benchmarks.openagi.tasks import TASKS
from lumos_queue.experts.base import Kind
from lumos_queue.util.images import MAX_BYTES

MAX_FAILURES = 1000  #: unusable samples of a data set after which no further ones are tried
#: The sets of augmentations that pictures of tasks have; () are the clean pictures of outputs.
PICTURE_SETS = tuple(
    dict.fromkeys(
        [(), *(channel.augmentations for task in TASKS for channel in task.channels if channel.slot.kind is Kind.IMAGE)]
    )
)


@dataclass(slots=True)
class Selection:
    """The samples of a data set that tasks use, in their order."""

    source: str  #: its name in tasks
    seed: int
    samples: list[PublishedSample] = field(default_factory=list)
    #: for each sample the JPEG files by augmentations; empty if the data set has no pictures
    pictures: list[Mapping[tuple[str, ...], Path]] = field(default_factory=list)
    picture_digests: list[str] = field(default_factory=list)  #: sha256 of the published files
    excluded: dict[str, str] = field(default_factory=dict)  #: id of each unusable sample that was drawn to the reason

    def text(self, number: int, channel: str, augmentations: tuple[str, ...]) -> str:
        """Return the text of a channel of a sample, after these augmentations."""
        sample = self.samples[number]
        text = sample.texts[channel]
        return mask_token(text, *self._seed_of(sample), channel) if CLOZED in augmentations else text

    def add(self, sample: PublishedSample, folder: Path, has_picture: bool) -> None:
        """Add a sample, with its pictures in a folder. Raises UnusableSet or UnusablePicture if it cannot be used."""
        if sample.longest > MAX_TEXT:
            raise UnusablePicture(f"a text of more than {MAX_TEXT:,} characters")
        if has_picture:
            if sample.picture is None:
                raise UnusablePicture("its picture is missing")
            path = sample.picture.save(folder, MAX_BYTES)
            pixels, digest = read_pixels(path)
            contents = {names: write_jpeg(pixels, names, *self._seed_of(sample)) for names in PICTURE_SETS}
            self.pictures.append(dict(_store(contents, folder / f"{len(self.samples)}")))
            self.picture_digests.append(digest)
        self.samples.append(sample)

    def _seed_of(self, sample: PublishedSample) -> tuple[object, ...]:
        return "published", self.source, self.seed, sample.id


def _store(contents: Mapping[tuple[str, ...], bytes], folder: Path) -> Iterator[tuple[tuple[str, ...], Path]]:
    folder.mkdir()
    for number, (names, data) in enumerate(contents.items()):
        path = folder / f"{number}.jpg"
        path.write_bytes(data)
        yield names, path


def select(source: str, published: PublishedSet, folder: Path, count: int, seed: int, first: bool) -> Selection:
    """Return up to `count` usable samples in the order of a draw, or the first ones in the published order (`first`).

    `folder` is an empty folder for their pictures.
    """
    selection = Selection(source, seed)
    has_pictures = not published.pictures_problem and any(sample.picture for sample in published.samples)
    order = list(range(len(published.samples)))
    if not first:
        Random(f"{seed} {source}").shuffle(order)
    for index in order:
        if len(selection.samples) == count or len(selection.excluded) == MAX_FAILURES:
            break
        sample = published.samples[index]
        try:
            selection.add(sample, folder, has_pictures)
        except (UnusablePicture, UnusableSet) as error:
            selection.excluded[sample.id] = str(error)
    return selection
