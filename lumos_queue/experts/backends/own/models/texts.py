"""Experts that read a text and answer with one."""

from __future__ import annotations

import re
from collections.abc import Sequence

import torch
from torch import Tensor

from lumos_queue.experts.backends.own.models.loading import load_network
from lumos_queue.experts.backends.own.networks.translator import Translator
from lumos_queue.experts.backends.own.networks.words import MAX_WORDS, WordTagger
from lumos_queue.experts.backends.pixels import read_text
from lumos_queue.experts.problems import BAD_INPUT, SampleError

MASK = "[MASK]"
UNKNOWN = "<unknown>"  #: in vocabularies: any word that was not seen in training
BETWEEN = "<between>"  #: in vocabularies: what stands between a question and its document


def number_words(words: Sequence[str], vocabulary: Sequence[str]) -> Tensor:
    """(1, length) of numbers. Raises SampleError for more than MAX_WORDS words."""
    if len(words) > MAX_WORDS:
        raise SampleError(BAD_INPUT, f"a text of {len(words):,} words: at most {MAX_WORDS}")
    numbers = {word: number for number, word in enumerate(vocabulary)}
    return torch.tensor([[numbers.get(word, numbers[UNKNOWN]) for word in words]])


class _Tag:
    def __init__(self, folder: str):
        self.network, self.vocabulary = load_network(WordTagger, folder)
        self.words: list[str] = self.vocabulary["words"]

    def tag(self, words: Sequence[str]) -> Tensor:
        """(words, outputs)."""
        with torch.inference_mode():
            return self.network(number_words(words, self.words))[0]


class JudgeSentiment(_Tag):
    def run(self, *inputs: bytes) -> bytes:
        logits = self.tag(read_text(inputs[0]).split()).mean(dim=0)
        return self.vocabulary["labels"][int(logits.argmax())].encode()


class FillMasks(_Tag):
    def run(self, *inputs: bytes) -> bytes:
        """Every mask is filled, from left to right; a text without one stays as it is."""
        words = read_text(inputs[0]).split(" ")
        masked = [place for place, word in enumerate(words) if MASK in word]
        for place in masked:
            seen = [MASK if MASK in word else word for word in words]
            logits = self.tag(seen)[place]
            words[place] = words[place].replace(MASK, self.vocabulary["fillers"][int(logits.argmax())], 1)
        return " ".join(words).encode()


class PointAtAnswer(_Tag):
    """The word of the document that answers."""

    def run(self, *inputs: bytes) -> bytes:
        document, question = read_text(inputs[0]).split(), read_text(inputs[1]).split()
        scores = self.tag([*question, BETWEEN, *document])[len(question) + 1 :, 0]
        return document[int(scores.argmax())].encode()


class ChooseSentences(_Tag):
    """The sentences that matter most, in their order; as many as summaries had."""

    def run(self, *inputs: bytes) -> bytes:
        sentences = split_sentences(read_text(inputs[0]))
        scores = self.tag([word for sentence in sentences for word in sentence.split()])[:, 0]
        parts = scores.split([len(sentence.split()) for sentence in sentences])
        best = sorted(range(len(sentences)), key=lambda at: -float(parts[at].mean()))[: self.vocabulary["kept"]]
        return " ".join(sentences[at] for at in sorted(best)).encode()


def split_sentences(text: str) -> list[str]:
    return [one for part in re.split(r"(?<=[.!?])\s+", text) if (one := part.strip())]


class TranslateText:
    """Word after word; what it has never seen it copies, in the order in which that stands in the text."""

    def __init__(self, folder: str):
        self.network, vocabulary = load_network(Translator, folder)
        self.words: list[str] = vocabulary["words"]
        self.target: list[str] = vocabulary["target"]
        self.known = frozenset(self.words)

    def run(self, *inputs: bytes) -> bytes:
        given = read_text(inputs[0]).split()
        numbers = number_words(given, self.words)
        unknown = iter([word for word in given if word not in self.known])
        made = [self.target[one] for one in self.network.write(numbers, min(MAX_WORDS - 1, 2 * len(given) + 8))]
        return " ".join(next(unknown, "") if word == UNKNOWN else word for word in made).strip().encode()
