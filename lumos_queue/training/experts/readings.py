"""Lessons of the experts that read: sentiment, masked words, answers in documents, sentences of a summary."""

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
    pairs = [(sample.texts["text"].split(), sample.target.en) for sample in _samples("sentiments")]
    words, labels = list_words(" ".join(text) for text, _ in pairs), sorted({label for _, label in pairs})
    numbers = Numbers(words)
    network, shape = _tagger(words, len(labels))

    def loss(chance: Chance) -> Tensor:
        batch = [pairs[index] for index in chance.integers(len(pairs), size=_BATCH)]
        inputs = pad([numbers.hide(numbers.of(text), chance) for text, _ in batch])
        mask = (inputs != PAD)[..., None]
        logits = (network(inputs) * mask).sum(dim=1) / mask.sum(dim=1)
        return functional.cross_entropy(logits, torch.tensor([labels.index(label) for _, label in batch]))

    return Lesson(network, shape, loss, {"words": words, "labels": labels})


def masks(expert: str, profiles: Sequence[str]) -> Lesson:
    """Return the lesson of texts of all sources, mostly captions. One word of each text is masked."""
    texts_by_source = {
        source: [text.split() for sample in _samples(source) for text in sample.texts.values()]
        for source in ("captions", "documents", "sentiments", "signs", "passages")
    }
    words = list_words(" ".join(text) for texts in texts_by_source.values() for text in texts)
    numbers, other_sources = Numbers(words), list(texts_by_source)[1:]
    network, shape = _tagger(words, len(words), layers=2)

    def loss(chance: Chance) -> Tensor:
        source = "captions" if chance.random() < _CAPTIONS else other_sources[int(chance.integers(len(other_sources)))]
        texts = texts_by_source[source]
        batch = [texts[index] for index in chance.integers(len(texts), size=_BATCH)]
        positions = [int(chance.integers(len(text))) for text in batch]
        targets = numbers.of(text[position] for text, position in zip(batch, positions, strict=True))
        inputs = [numbers.hide(numbers.of(text), chance) for text in batch]
        for text, position in zip(inputs, positions, strict=True):
            text[position] = numbers.of([MASK])[0]
        logits = network(pad(inputs))[torch.arange(_BATCH), torch.tensor(positions)]
        return functional.cross_entropy(logits, torch.tensor(targets))

    return Lesson(network, shape, loss, {"words": words, "fillers": words})


def answers(expert: str, profiles: Sequence[str]) -> Lesson:
    rows = [
        ([*sample.texts["question"].split(), BETWEEN], sample.texts["document"].split(), sample.target.en)
        for sample in _samples("passages")
    ]
    words = list_words(" ".join([*question, *document]) for question, document, _ in rows)
    numbers = Numbers(words)
    network, shape = _tagger(words, 1, layers=2)

    def loss(chance: Chance) -> Tensor:
        batch = [rows[index] for index in chance.integers(len(rows), size=_BATCH)]
        inputs = pad([numbers.hide(numbers.of([*question, *document]), chance) for question, document, _ in batch])
        scores = network(inputs)[..., 0].masked_fill(inputs == PAD, -torch.inf)
        targets = [len(question) + document.index(answer) for question, document, answer in batch]
        return functional.cross_entropy(scores, torch.tensor(targets))

    return Lesson(network, shape, loss, {"words": words})


def summaries(expert: str, profiles: Sequence[str]) -> Lesson:
    """Return the lesson of summaries: the sentences of a document that share the most words with its summary."""
    rows = [_mark_sentences(sample) for sample in _samples("documents")]
    words = list_words(" ".join(word for sentence in sentences for word in sentence) for sentences, _ in rows)
    numbers = Numbers(words)
    network, shape = _tagger(words, 1)

    def loss(chance: Chance) -> Tensor:
        batch = [rows[index] for index in chance.integers(len(rows), size=_BATCH)]
        inputs = [
            numbers.hide(numbers.of(word for sentence in sentences for word in sentence), chance)
            for sentences, _ in batch
        ]
        scores = network(pad(inputs))[..., 0]
        means = [
            part.mean()
            for row, (sentences, _) in enumerate(batch)
            for part in scores[row, : len(inputs[row])].split([len(sentence) for sentence in sentences])
        ]
        targets = torch.tensor([mark for _, marks in batch for mark in marks])
        return functional.binary_cross_entropy_with_logits(torch.stack(means), targets)

    return Lesson(network, shape, loss, {"words": words, "kept": _KEPT})


def _mark_sentences(sample: Sample) -> tuple[list[list[str]], list[float]]:
    """Return the words of each sentence of a document, and 1.0 for the sentences nearest to its summary, else 0.0."""
    sentences = [sentence.split() for sentence in split_sentences(sample.texts["text"])]
    summary = set(sample.target.en.split())
    overlaps = [len(summary & set(sentence)) / len(set(sentence)) for sentence in sentences]
    selection = sorted(range(len(sentences)), key=lambda index: -overlaps[index])[:_KEPT]
    return sentences, [float(index in selection) for index in range(len(sentences))]
