"""The sources and their samples. Each source replaces a data set of the paper.

    labels      ImageNet-1K val           a picture of a thing; its class
    captions    COCO captions val2017     a picture of some things; a sentence about it, which is also an input text
    objects     COCO instances val2017    a picture of several things; the name of each
    documents   CNN/DailyMail test        a report; its summary
    sentiments  SST-2 val                 an opinion; 'positive' or 'negative'
    signs       TextVQA val               a picture with writing and a question; the answer
    passages    SQuAD val                 a text and a question; the answer, a part of the text

Source, split and number identify a sample. The same grammar, not a model, writes a target in English and in German.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType

from lumos_queue.benchmarks.openagi.data import pictures, texts
from lumos_queue.benchmarks.openagi.data.augmentations import CLOZED, augment_image, mask_token
from lumos_queue.benchmarks.openagi.data.drawing import Scene, draw_scene
from lumos_queue.benchmarks.openagi.data.nouns import Phrase
from lumos_queue.benchmarks.openagi.data.png import write_png
from lumos_queue.benchmarks.openagi.data.seeds import sample_of_split
from lumos_queue.benchmarks.openagi.data.things import THINGS


@dataclass(frozen=True, slots=True)
class Sample:
    """The inputs before augmentation, and the target."""

    target: Phrase
    scene: Scene | None = None  #: of the picture; None: the sample has no picture
    texts: Mapping[str, str] = field(default_factory=dict)  #: by channel: 'text', 'document', 'question'


def _label(split: str, number: int) -> Sample:
    scene, name = sample_of_split("labels", split, number, pictures.draw_label, pictures.split_label)
    noun = THINGS[name].noun
    return Sample(Phrase(noun.en, noun.de), scene)


def _caption(split: str, number: int) -> Sample:
    scene, caption = sample_of_split("captions", split, number, pictures.draw_caption, pictures.split_objects)
    return Sample(caption, scene, {"text": caption.en})


def _objects(split: str, number: int) -> Sample:
    scene, names = sample_of_split("objects", split, number, pictures.draw_objects, pictures.split_objects)
    return Sample(names, scene)


def _sign(split: str, number: int) -> Sample:
    scene, question, answer = sample_of_split("signs", split, number, pictures.draw_signs, pictures.split_signs)
    return Sample(answer, scene, {"question": question})


def _report(split: str, number: int) -> Sample:
    _, document, summary = sample_of_split("documents", split, number, texts.sample_report, texts.split_report)
    return Sample(summary, None, {"text": document})


def _opinion(split: str, number: int) -> Sample:
    _, sentence, sentiment = sample_of_split("sentiments", split, number, texts.sample_opinion, texts.split_opinion)
    return Sample(sentiment, None, {"text": sentence})


def _passage(split: str, number: int) -> Sample:
    _, document, question, answer = sample_of_split("passages", split, number, texts.sample_life, texts.split_life)
    return Sample(answer, None, {"document": document, "question": question})


SOURCES: Mapping[str, Callable[[str, int], Sample]] = MappingProxyType(
    {
        "labels": _label,
        "captions": _caption,
        "objects": _objects,
        "documents": _report,
        "sentiments": _opinion,
        "signs": _sign,
        "passages": _passage,
    }
)


@lru_cache(maxsize=4096)
def load_sample(source: str, split: str, number: int) -> Sample:
    """Return the sample with that number, always the same. `split`: 'train', 'dev' or 'test'; `number`: from 0.

    Raises KeyError for an unknown source and ValueError for an unknown split.
    """
    return SOURCES[source](split, number)


@lru_cache(maxsize=4096)
def load_input(
    source: str, split: str, number: int, channel: str, augmentations: tuple[str, ...] = (), profile: str = "released"
) -> bytes:
    """Return the input of a channel of a sample, after these augmentations: PNG bytes, or a text in UTF-8.

    Without augmentations, return the clean original. Raises KeyError for an unknown channel or profile.
    """
    sample = load_sample(source, split, number)
    if channel == "image":
        if sample.scene is None:
            raise KeyError(f"the source '{source}' has no pictures")
        return write_png(augment_image(draw_scene(sample.scene), augmentations, profile, source, split, number))
    text = sample.texts[channel]
    return (mask_token(text, source, split, number, channel) if CLOZED in augmentations else text).encode()
