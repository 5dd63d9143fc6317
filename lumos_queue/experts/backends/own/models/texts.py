"""Experts that take texts and return a text."""

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
UNKNOWN = "<unknown>"  #: in vocabularies: any word that is not in the training data
BETWEEN = "<between>"  #: in vocabularies: the separator of a question and its document


def number_words(words: Sequence[str], vocabulary: Sequence[str]) -> Tensor:
    """Return the numbers of words: (1, length). Raises SampleError for more than MAX_WORDS words."""
    if len(words) > MAX_WORDS:
        raise SampleError(BAD_INPUT, f"a text of {len(words):,} words: at most {MAX_WORDS}")
    numbers = {word: number for number, word in enumerate(vocabulary)}
    return torch.tensor([[numbers.get(word, numbers[UNKNOWN]) for word in words]])


class _Tag:
    def __init__(self, folder: str):
        self.network, self.vocabulary = load_network(WordTagger, folder)
        self.words: list[str] = self.vocabulary["words"]

    def tag(self, words: Sequence[str]) -> Tensor:
        """Return the outputs of the network for each word: (words, outputs)."""
        with torch.inference_mode():
            return self.network(number_words(words, self.words))[0]


class JudgeSentiment(_Tag):
    def run(self, *inputs: bytes) -> bytes:
        logits = self.tag(read_text(inputs[0]).split()).mean(dim=0)
        return self.vocabulary["labels"][int(logits.argmax())].encode()


class FillMasks(_Tag):
    def run(self, *inputs: bytes) -> bytes:
        """Fill every mask, from left to right. A text without a mask stays as it is."""
        words = read_text(inputs[0]).split(" ")
        masked_positions = [position for position, word in enumerate(words) if MASK in word]
        for position in masked_positions:
            input_words = [MASK if MASK in word else word for word in words]
            logits = self.tag(input_words)[position]
            words[position] = words[position].replace(MASK, self.vocabulary["fillers"][int(logits.argmax())], 1)
        return " ".join(words).encode()


class PointAtAnswer(_Tag):
    """Selects the word of the document that is the answer."""

    def run(self, *inputs: bytes) -> bytes:
        document, question = read_text(inputs[0]).split(), read_text(inputs[1]).split()
        scores = self.tag([*question, BETWEEN, *document])[len(question) + 1 :, 0]
        return document[int(scores.argmax())].encode()


class ChooseSentences(_Tag):
    """Selects the most important sentences, in their order; as many as the training summaries have."""

    def run(self, *inputs: bytes) -> bytes:
        sentences = split_sentences(read_text(inputs[0]))
        scores = self.tag([word for sentence in sentences for word in sentence.split()])[:, 0]
        parts = scores.split([len(sentence.split()) for sentence in sentences])
        best = sorted(range(len(sentences)), key=lambda index: -float(parts[index].mean()))[: self.vocabulary["kept"]]
        return " ".join(sentences[index] for index in sorted(best)).encode()


def split_sentences(text: str) -> list[str]:
    return [sentence for part in re.split(r"(?<=[.!?])\s+", text) if (sentence := part.strip())]


class TranslateText:
    """Translates word by word. Unknown words are copied in the order in which they are in the text."""

    def __init__(self, folder: str):
        self.network, vocabulary = load_network(Translator, folder)
        self.words: list[str] = vocabulary["words"]
        self.target: list[str] = vocabulary["target"]
        self.known = frozenset(self.words)

    def run(self, *inputs: bytes) -> bytes:
        source_words = read_text(inputs[0]).split()
        numbers = number_words(source_words, self.words)
        unknown = iter([word for word in source_words if word not in self.known])
        output_words = [
            self.target[number] for number in self.network.write(numbers, min(MAX_WORDS - 1, 2 * len(source_words) + 8))
        ]
        return " ".join(next(unknown, "") if word == UNKNOWN else word for word in output_words).strip().encode()
