"""Experts for generated texts, which count the words of the training split: masks, sentiments, summaries, answers."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise

from lumos_queue.benchmarks.openagi.data.augmentations import MASK
from lumos_queue.benchmarks.openagi.data.samples import load_sample
from lumos_queue.experts.backends.pixels import read_text
from lumos_queue.experts.problems import BAD_INPUT, SampleError

_COUNTED = 800  #: samples of each source
_TEXTS = ("captions", "documents", "sentiments", "signs", "passages")
_EDGE = "<edge>"


def _training_texts() -> Iterator[str]:
    for source in _TEXTS:
        for number in range(_COUNTED):
            yield from load_sample(source, "train", number).texts.values()


def _sentences(text: str) -> list[str]:
    return [one.strip() for one in re.split(r"(?<=[.!?])\s+", text) if one.strip()]


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


class FillByCounts:
    """The word that was seen most often between these four words, or the nearest of them; a text's own words first."""

    def __init__(self) -> None:
        self.wide: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
        self.left: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
        self.right: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
        self.near: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
        for text in _training_texts():
            words = text.split(" ")
            for at, word in enumerate(words):
                around = _around(words, at)
                self.wide[around][word] += 1
                self.near[around[1:3]][word] += 1
                self.left[around[:2]][word] += 1
                self.right[around[2:]][word] += 1

    def run(self, *inputs: bytes) -> bytes:
        """Every mask is filled, from left to right; a text without one stays as it is."""
        words = read_text(inputs[0]).split(" ")
        while any(MASK in word for word in words):
            at = next(at for at, word in enumerate(words) if MASK in word)
            words[at] = words[at].replace(MASK, self._best(words, at), 1)
        return " ".join(words).encode()

    def _best(self, words: list[str], at: int) -> str:
        around = _around(words, at)
        tables = (self.wide[around], self.near[around[1:3]], self.left[around[:2]], self.right[around[2:]])
        candidates = {word for table in tables for word in table}
        if not candidates:
            return "the"
        own = Counter(word for place, word in enumerate(words) if place != at)
        return max(sorted(candidates), key=lambda word: self._score(word, tables, own[word]))

    @staticmethod
    def _score(word: str, tables: tuple[Counter[str], ...], own: int) -> float:
        name = word[:1].isupper() and own > 0
        return sum(math.log(table[word] + 0.01) for table in tables) + (6.0 if name else 0.0)


def _around(words: list[str], at: int) -> tuple[str, ...]:
    padded = [_EDGE, _EDGE, *words, _EDGE, _EDGE]
    return (*padded[at : at + 2], *padded[at + 3 : at + 5])


class ContinueByCounts:
    """The words that most often follow, until a sentence ends."""

    def __init__(self) -> None:
        self.next: dict[str, Counter[str]] = defaultdict(Counter)
        for text in _training_texts():
            words = text.split(" ")
            for first, second in pairwise(words):
                self.next[first][second] += 1

    def run(self, *inputs: bytes) -> bytes:
        words = read_text(inputs[0]).split(" ")
        for _ in range(20):
            found = self.next.get(words[-1])
            if not found:
                break
            words.append(max(sorted(found), key=found.__getitem__))
            if words[-1] in (".", "!", "?"):
                break
        return " ".join(words).encode()


class FeelSentiment:
    """Words by how often they are in positive and in negative texts; what comes after 'but' counts alone."""

    def __init__(self) -> None:
        counts: dict[str, Counter[str]] = {"positive": Counter(), "negative": Counter()}
        for number in range(_COUNTED):
            sample = load_sample("sentiments", "train", number)
            counts[sample.target.en].update(set(_words(_told(sample.texts["text"]))))
        good, bad = counts["positive"], counts["negative"]
        self.weights = {word: math.log((good[word] + 1) / (bad[word] + 1)) for word in {*good, *bad}}

    def run(self, *inputs: bytes) -> bytes:
        words = _words(_told(read_text(inputs[0])))
        return b"positive" if sum(self.weights.get(word, 0.0) for word in words) >= 0 else b"negative"


def _told(text: str) -> str:
    return text.rpartition(" but ")[2]


class SummarizeByCounts:
    """The two sentences whose words are most often those of summaries, in their order."""

    def __init__(self) -> None:
        inside, outside = Counter[str](), Counter[str]()
        for number in range(_COUNTED):
            sample = load_sample("documents", "train", number)
            summary = set(_words(sample.target.en))
            for word in set(_words(sample.texts["text"])):
                (inside if word in summary else outside)[word] += 1
        self.weights = {word: math.log((inside[word] + 1) / (outside[word] + 1)) for word in {*inside, *outside}}

    def run(self, *inputs: bytes) -> bytes:
        sentences = _sentences(read_text(inputs[0]))
        best = sorted(range(len(sentences)), key=lambda at: -self._score(sentences[at]))[:2]
        return " ".join(sentences[at] for at in sorted(best)).encode()

    def _score(self, sentence: str) -> float:
        words = _words(sentence)
        return sum(self.weights.get(word, 0.0) for word in words) / max(1, len(words))


class AnswerByCounts:
    """The word of the document whose neighbours are those of answers to questions with the same words."""

    def __init__(self) -> None:
        self.seen: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
        for number in range(_COUNTED):
            sample = load_sample("passages", "train", number)
            document, answer = sample.texts["document"].split(" "), sample.target.en
            if answer in document:
                around = _around(document, document.index(answer))
                for word in set(_words(sample.texts["question"])):
                    self.seen[word][around[:2]] += 1
                    self.seen[word][around[1:3]] += 1

    def run(self, *inputs: bytes) -> bytes:
        document, question = read_text(inputs[0]).split(" "), _words(read_text(inputs[1]))
        candidates = [at for at, word in enumerate(document) if word.isalnum()]
        if not candidates:
            raise SampleError(BAD_INPUT, "a document without a word")
        return document[max(candidates, key=lambda at: self._score(_around(document, at), question))].encode()

    def _score(self, around: tuple[str, ...], question: list[str]) -> float:
        """How much likelier the neighbours are with each word of the question than with any."""
        score = 0.0
        for word in question:
            table = self.seen.get(word)
            if table:
                total = table.total()
                score += sum(math.log((table[part] / total) + 1e-4) for part in (around[:2], around[1:3]))
        return score
