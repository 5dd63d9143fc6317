"""Experts for generated texts that count words of the training split: for masks, sentiments, summaries and answers."""

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
    return [sentence.strip() for sentence in re.split(r"(?<=[.!?])\s+", text) if sentence.strip()]


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


class FillByCounts:
    """Fills a mask with the word that most often stands between the two words before and the two words after the mask.

    Capitalised words that occur elsewhere in the text are preferred.
    """

    def __init__(self) -> None:
        self.wide: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
        self.preceding_counts: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
        self.right: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
        self.near: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
        for text in _training_texts():
            words = text.split(" ")
            for index, word in enumerate(words):
                around = _around(words, index)
                self.wide[around][word] += 1
                self.near[around[1:3]][word] += 1
                self.preceding_counts[around[:2]][word] += 1
                self.right[around[2:]][word] += 1

    def run(self, *inputs: bytes) -> bytes:
        """Fill every mask, from left to right. A text without a mask stays as it is."""
        words = read_text(inputs[0]).split(" ")
        while any(MASK in word for word in words):
            position = next(position for position, word in enumerate(words) if MASK in word)
            words[position] = words[position].replace(MASK, self._best(words, position), 1)
        return " ".join(words).encode()

    def _best(self, words: list[str], index: int) -> str:
        around = _around(words, index)
        tables = (self.wide[around], self.near[around[1:3]], self.preceding_counts[around[:2]], self.right[around[2:]])
        candidates = {word for table in tables for word in table}
        if not candidates:
            return "the"
        other_words = Counter(word for position, word in enumerate(words) if position != index)
        return max(sorted(candidates), key=lambda word: self._score(word, tables, other_words[word]))

    @staticmethod
    def _score(word: str, tables: tuple[Counter[str], ...], occurrences: int) -> float:
        name = word[:1].isupper() and occurrences > 0
        return sum(math.log(table[word] + 0.01) for table in tables) + (6.0 if name else 0.0)


def _around(words: list[str], index: int) -> tuple[str, ...]:
    padded_words = [_EDGE, _EDGE, *words, _EDGE, _EDGE]
    return (*padded_words[index : index + 2], *padded_words[index + 3 : index + 5])


class ContinueByCounts:
    """Appends the words that follow most often, until a sentence ends."""

    def __init__(self) -> None:
        self.next: dict[str, Counter[str]] = defaultdict(Counter)
        for text in _training_texts():
            words = text.split(" ")
            for first, second in pairwise(words):
                self.next[first][second] += 1

    def run(self, *inputs: bytes) -> bytes:
        words = read_text(inputs[0]).split(" ")
        for _ in range(20):
            followers = self.next.get(words[-1])
            if not followers:
                break
            words.append(max(sorted(followers), key=followers.__getitem__))
            if words[-1] in (".", "!", "?"):
                break
        return " ".join(words).encode()


class FeelSentiment:
    """Weighs words by their counts in positive and in negative texts. After a 'but', only the words behind it count."""

    def __init__(self) -> None:
        counts: dict[str, Counter[str]] = {"positive": Counter(), "negative": Counter()}
        for number in range(_COUNTED):
            sample = load_sample("sentiments", "train", number)
            counts[sample.target.en].update(set(_words(_last_clause(sample.texts["text"]))))
        good, bad = counts["positive"], counts["negative"]
        self.weights = {word: math.log((good[word] + 1) / (bad[word] + 1)) for word in {*good, *bad}}

    def run(self, *inputs: bytes) -> bytes:
        words = _words(_last_clause(read_text(inputs[0])))
        return b"positive" if sum(self.weights.get(word, 0.0) for word in words) >= 0 else b"negative"


def _last_clause(text: str) -> str:
    return text.rpartition(" but ")[2]


class SummarizeByCounts:
    """Selects the two sentences whose words occur most often in summaries, in the order of the text."""

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
        best = sorted(range(len(sentences)), key=lambda index: -self._score(sentences[index]))[:2]
        return " ".join(sentences[index] for index in sorted(best)).encode()

    def _score(self, sentence: str) -> float:
        words = _words(sentence)
        return sum(self.weights.get(word, 0.0) for word in words) / max(1, len(words))


class AnswerByCounts:
    """Selects the document's word whose neighbours are most like those of answers to questions with the same words."""

    def __init__(self) -> None:
        self.answer_counts: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
        for number in range(_COUNTED):
            sample = load_sample("passages", "train", number)
            document, answer = sample.texts["document"].split(" "), sample.target.en
            if answer in document:
                around = _around(document, document.index(answer))
                for word in set(_words(sample.texts["question"])):
                    self.answer_counts[word][around[:2]] += 1
                    self.answer_counts[word][around[1:3]] += 1

    def run(self, *inputs: bytes) -> bytes:
        document, question = read_text(inputs[0]).split(" "), _words(read_text(inputs[1]))
        candidates = [index for index, word in enumerate(document) if word.isalnum()]
        if not candidates:
            raise SampleError(BAD_INPUT, "a document without a word")
        return document[max(candidates, key=lambda index: self._score(_around(document, index), question))].encode()

    def _score(self, around: tuple[str, ...], question: list[str]) -> float:
        """Return how likely answers to the question's words have these neighbours, as a sum of logarithms."""
        score = 0.0
        for word in question:
            table = self.answer_counts.get(word)
            if table:
                total = table.total()
                score += sum(math.log((table[part] / total) + 1e-4) for part in (around[:2], around[1:3]))
        return score
