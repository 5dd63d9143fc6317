"""Lessons of the experts that read: sentiment, masks, answers in documents, sentences that matter."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from lumos_queue.benchmarks.openagi.data.samples import Sample, load_sample
from lumos_queue.experts.backends.own.models.texts import BETWEEN, MASK, split_sentences
from lumos_queue.experts.backends.own.networks.words import PAD, WordTagger
from lumos_queue.training.experts.lesson import SPLIT, Chance, Lesson
from lumos_queue.training.experts.vocabulary import Numbers, list_words, pad

_SAMPLES = 4000
_BATCH = 32
_KEPT = 2  #: sentences of a summary
_CAPTIONS = 0.4  #: of the texts with masks


def _samples(source: str) -> list[Sample]:
    return [load_sample(source, SPLIT, number) for number in range(_SAMPLES)]


def _tagger(words: Sequence[str], outputs: int, layers: int = 1) -> tuple[WordTagger, dict[str, int]]:
    shape = {"vocabulary": len(words), "width": 64, "layers": layers, "outputs": outputs}
    return WordTagger(**shape), shape


def sentiment(expert: str, profiles: Sequence[str]) -> Lesson:
    pairs = [(one.texts["text"].split(), one.target.en) for one in _samples("sentiments")]
    words, labels = list_words(" ".join(text) for text, _ in pairs), sorted({label for _, label in pairs})
    numbers = Numbers(words)
    network, shape = _tagger(words, len(labels))

    def loss(chance: Chance) -> Tensor:
        drawn = [pairs[at] for at in chance.integers(len(pairs), size=_BATCH)]
        given = pad([numbers.hide(numbers.of(text), chance) for text, _ in drawn])
        there = (given != PAD)[..., None]
        logits = (network(given) * there).sum(dim=1) / there.sum(dim=1)
        return functional.cross_entropy(logits, torch.tensor([labels.index(label) for _, label in drawn]))

    return Lesson(network, shape, loss, {"words": words, "labels": labels})


def masks(expert: str, profiles: Sequence[str]) -> Lesson:
    """Texts of all sources, those of captions most often; of each, one word is masked."""
    found = {
        source: [text.split() for one in _samples(source) for text in one.texts.values()]
        for source in ("captions", "documents", "sentiments", "signs", "passages")
    }
    words = list_words(" ".join(text) for texts in found.values() for text in texts)
    numbers, others = Numbers(words), list(found)[1:]
    network, shape = _tagger(words, len(words), layers=2)

    def loss(chance: Chance) -> Tensor:
        source = "captions" if chance.random() < _CAPTIONS else others[int(chance.integers(len(others)))]
        texts = found[source]
        drawn = [texts[at] for at in chance.integers(len(texts), size=_BATCH)]
        places = [int(chance.integers(len(text))) for text in drawn]
        wanted = numbers.of(text[at] for text, at in zip(drawn, places, strict=True))
        given = [numbers.hide(numbers.of(text), chance) for text in drawn]
        for text, at in zip(given, places, strict=True):
            text[at] = numbers.of([MASK])[0]
        logits = network(pad(given))[torch.arange(_BATCH), torch.tensor(places)]
        return functional.cross_entropy(logits, torch.tensor(wanted))

    return Lesson(network, shape, loss, {"words": words, "fillers": words})


def answers(expert: str, profiles: Sequence[str]) -> Lesson:
    rows = [
        ([*one.texts["question"].split(), BETWEEN], one.texts["document"].split(), one.target.en)
        for one in _samples("passages")
    ]
    words = list_words(" ".join([*asked, *document]) for asked, document, _ in rows)
    numbers = Numbers(words)
    network, shape = _tagger(words, 1, layers=2)

    def loss(chance: Chance) -> Tensor:
        drawn = [rows[at] for at in chance.integers(len(rows), size=_BATCH)]
        given = pad([numbers.hide(numbers.of([*asked, *document]), chance) for asked, document, _ in drawn])
        scores = network(given)[..., 0].masked_fill(given == PAD, -torch.inf)
        wanted = [len(asked) + document.index(answer) for asked, document, answer in drawn]
        return functional.cross_entropy(scores, torch.tensor(wanted))

    return Lesson(network, shape, loss, {"words": words})


def summaries(expert: str, profiles: Sequence[str]) -> Lesson:
    """The sentences of a summary are those of its document that share the most words with it."""
    rows = [_mark_sentences(one) for one in _samples("documents")]
    words = list_words(" ".join(word for sentence in sentences for word in sentence) for sentences, _ in rows)
    numbers = Numbers(words)
    network, shape = _tagger(words, 1)

    def loss(chance: Chance) -> Tensor:
        drawn = [rows[at] for at in chance.integers(len(rows), size=_BATCH)]
        given = [numbers.hide(numbers.of(word for one in sentences for word in one), chance) for sentences, _ in drawn]
        scores = network(pad(given))[..., 0]
        means = [
            part.mean()
            for row, (sentences, _) in enumerate(drawn)
            for part in scores[row, : len(given[row])].split([len(one) for one in sentences])
        ]
        wanted = torch.tensor([mark for _, marks in drawn for mark in marks])
        return functional.binary_cross_entropy_with_logits(torch.stack(means), wanted)

    return Lesson(network, shape, loss, {"words": words, "kept": _KEPT})


def _mark_sentences(sample: Sample) -> tuple[list[list[str]], list[float]]:
    """The sentences of a document, and 1.0 for each that its summary is made of."""
    sentences = [one.split() for one in split_sentences(sample.texts["text"])]
    summary = set(sample.target.en.split())
    shared = [len(summary & set(one)) / len(set(one)) for one in sentences]
    kept = sorted(range(len(sentences)), key=lambda at: -shared[at])[:_KEPT]
    return sentences, [float(at in kept) for at in range(len(sentences))]
