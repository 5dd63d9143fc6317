"""Lessons of the experts that translate into German, and that draw the picture of a text."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from lumos_queue.benchmarks.openagi.data.samples import SOURCES, load_sample
from lumos_queue.experts.backends.own.models.texts import UNKNOWN
from lumos_queue.experts.backends.own.networks.translator import BEGIN, END, Translator
from lumos_queue.experts.backends.own.networks.words import PAD, TextDrawer
from lumos_queue.training.experts.lesson import SPLIT, Chance, Lesson
from lumos_queue.training.experts.pictures import PICTURES, draw_training_picture, to_batch
from lumos_queue.training.experts.vocabulary import Numbers, list_words, pad

_PAIRS = 3000  #: of each source
_BATCH, _DRAWN = 48, 16
_COPIED = 0.05  #: share of words common to both languages that are made unknown in both, so that copying is learnt
_CAPTIONS = 0.4  #: of the batches


def translation(expert: str, profiles: Sequence[str]) -> Lesson:
    """Return the lesson with the texts of every source in both languages."""
    pairs_by_source = {
        source: [
            (target.en.split(), target.de.split())
            for number in range(_PAIRS)
            if (target := load_sample(source, SPLIT, number).target)
        ]
        for source in SOURCES
    }
    words = list_words(" ".join(english) for pairs in pairs_by_source.values() for english, _ in pairs)
    target = list_words(" ".join(german) for pairs in pairs_by_source.values() for _, german in pairs)
    english, german, sources = Numbers(words), Numbers(target), list(SOURCES)
    shape = {"vocabulary": len(words), "target": len(target), "width": 96, "layers": 2}
    network = Translator(**shape)

    def loss(chance: Chance) -> Tensor:
        source = "captions" if chance.random() < _CAPTIONS else sources[int(chance.integers(len(sources)))]
        pairs = [pairs_by_source[source][index] for index in chance.integers(_PAIRS, size=_BATCH)]
        inputs, targets = zip(*(_hide_copied(*pair, chance=chance) for pair in pairs), strict=True)
        decoder_inputs = pad([[BEGIN, *german.of(text)] for text in targets])
        aims = pad([[*german.of(text), END] for text in targets])
        logits = network(pad([english.of(text) for text in inputs]), decoder_inputs)
        return functional.cross_entropy(logits.flatten(0, 1), aims.flatten(), ignore_index=PAD)

    return Lesson(network, shape, loss, {"words": words, "target": target}, rate=1.5e-3)


def _hide_copied(english: list[str], german: list[str], chance: Chance) -> tuple[list[str], list[str]]:
    same = {word for word in english if word in german and word[:1].isalnum() and chance.random() < _COPIED}

    def hide(text: list[str]) -> list[str]:
        return [UNKNOWN if word in same else word for word in text]

    return hide(english), hide(german)


def drawing(expert: str, profiles: Sequence[str]) -> Lesson:
    """Return the lesson with captions and their pictures; the loss is the mean absolute difference."""
    texts = [load_sample("captions", SPLIT, number).texts["text"].split() for number in range(PICTURES)]
    words = list_words(map(" ".join, texts))
    numbers, shape = Numbers(words), {"vocabulary": len(words), "width": 64}
    network = TextDrawer(**shape)

    def loss(chance: Chance) -> Tensor:
        sample = [int(index) for index in chance.integers(PICTURES, size=_DRAWN)]
        pictures = network(pad([numbers.hide(numbers.of(texts[index]), chance) for index in sample]))
        targets = to_batch([draw_training_picture("captions", index) for index in sample])
        return torch.abs(pictures - targets).mean()

    return Lesson(network, shape, loss, {"words": words})
