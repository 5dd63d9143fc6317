"""Experts that see or make pictures."""

from __future__ import annotations

from collections import Counter

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.nn import functional

from lumos_queue.experts.backends.own.models.loading import load_network
from lumos_queue.experts.backends.own.models.texts import number_words
from lumos_queue.experts.backends.own.networks.restorer import Restorer
from lumos_queue.experts.backends.own.networks.viewer import CELL, SIDE, Seen, Viewer
from lumos_queue.experts.backends.own.networks.words import TextDrawer
from lumos_queue.experts.backends.pixels import from_pixels, read_picture, read_text, to_pixels
from lumos_queue.experts.problems import BAD_INPUT, SampleError

_SURE = 0.5  #: that a thing's middle is in a cell or one beside it


class RestorePicture:
    def __init__(self, folder: str):
        self.network, _ = load_network(Restorer, folder)

    def run(self, *inputs: bytes) -> bytes:
        with torch.inference_mode():
            made = self.network(to_tensor(to_pixels(inputs[0])))[0]
        return from_pixels(made.permute(1, 2, 0).numpy())


class DrawText:
    """What the words have in common with pictures of them: the place is clear, and things are where they may be."""

    def __init__(self, folder: str):
        self.network, vocabulary = load_network(TextDrawer, folder)
        self.words: list[str] = vocabulary["words"]

    def run(self, *inputs: bytes) -> bytes:
        with torch.inference_mode():
            made = self.network(number_words(read_text(inputs[0]).split(), self.words))[0]
        return from_pixels(made.permute(1, 2, 0).numpy())


class _View:
    def __init__(self, folder: str):
        self.network, self.vocabulary = load_network(Viewer, folder)

    def look(self, data: bytes) -> Seen:
        image = read_picture(data)
        if image.size != (SIDE, SIDE):
            image = image.resize((SIDE, SIDE), Image.Resampling.BICUBIC)
        with torch.inference_mode():
            return self.network(to_tensor(np.asarray(image, dtype=np.float32) / np.float32(255)))

    def label(self, seen: Seen, group: int) -> str:
        """The likeliest label of a group."""
        return self.vocabulary["groups"][group][int(seen.groups[group][0].argmax())]

    def things(self, seen: Seen) -> list[str]:
        """The things from left to right, each as often as it is there."""
        chances = seen.points[0].softmax(dim=0)
        there = (1 - chances[0])[None]
        peak = functional.max_pool2d(there, 5, stride=1, padding=2) == there
        mass = functional.avg_pool2d(there, 3, stride=1, padding=1, count_include_pad=True)[0] * 9
        found = []
        for row, column in torch.nonzero(peak[0] & (mass > _SURE)).tolist():
            kind = int(chances[1:, row, column].argmax())
            left = column + float(seen.offsets[0, row, column])
            found.append((round(left * CELL), row, self.vocabulary["kinds"][kind]))
        return [kind for _, _, kind in sorted(found)]


class ClassifyPicture(_View):
    def run(self, *inputs: bytes) -> bytes:
        return self.label(self.look(inputs[0]), 0).encode()


class ListThings(_View):
    def run(self, *inputs: bytes) -> bytes:
        """Raises SampleError for a picture in which it finds nothing."""
        found = self.things(self.look(inputs[0]))
        if not found:
            raise SampleError(BAD_INPUT, "no thing that it is sure of")
        return ", ".join(found).encode()


class DescribePicture(_View):
    """How many of which things, in the phrases of its vocabulary, and the place."""

    def run(self, *inputs: bytes) -> bytes:
        seen = self.look(inputs[0])
        counted = Counter(self.things(seen))
        phrases = self.vocabulary["phrases"]
        named = [phrases[kind][min(count, len(phrases[kind])) - 1] for kind, count in counted.items()]
        return f"{' and '.join(named)} {self.label(seen, 0)}".strip().encode()


class AnswerAboutPicture(_View):
    """The words of the question decide what is looked for: a word, both digits of a number, or a thing."""

    def run(self, *inputs: bytes) -> bytes:
        seen = self.look(inputs[0])
        asked = read_text(inputs[1]).lower().split()
        topics: list[dict[str, float]] = self.vocabulary["topics"]
        votes = [sum(weights.get(word, 0.0) for word in asked) for weights in topics]
        wanted = self.vocabulary["answers"][votes.index(max(votes))]
        best = seen.points[0].log_softmax(dim=0)[1:].amax(dim=(1, 2))
        found = [begin + int(best[begin:end].argmax()) for begin, end in wanted]
        return "".join(self.vocabulary["kinds"][kind] for kind in found).encode()


def to_tensor(pixels: np.ndarray) -> Tensor:
    """(height, width, 3) → (1, 3, height, width)."""
    return torch.from_numpy(np.ascontiguousarray(pixels.transpose(2, 0, 1)))[None]
