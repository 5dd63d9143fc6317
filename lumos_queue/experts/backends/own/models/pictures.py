"""Experts that take or make pictures."""

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
from lumos_queue.experts.backends.own.networks.viewer import CELL, SIDE, Viewer, ViewerOutput
from lumos_queue.experts.backends.own.networks.words import TextDrawer
from lumos_queue.experts.backends.pixels import from_pixels, read_picture, read_text, to_pixels
from lumos_queue.experts.problems import BAD_INPUT, SampleError

_SURE = 0.5  #: least probability that the middle of a thing is in a cell or beside it


class RestorePicture:
    def __init__(self, folder: str):
        self.network, _ = load_network(Restorer, folder)

    def run(self, *inputs: bytes) -> bytes:
        with torch.inference_mode():
            picture = self.network(to_tensor(to_pixels(inputs[0])))[0]
        return from_pixels(picture.permute(1, 2, 0).numpy())


class DrawText:
    """Draws the mean of the pictures that the words describe: the place is clear, the positions of things vary."""

    def __init__(self, folder: str):
        self.network, vocabulary = load_network(TextDrawer, folder)
        self.words: list[str] = vocabulary["words"]

    def run(self, *inputs: bytes) -> bytes:
        with torch.inference_mode():
            picture = self.network(number_words(read_text(inputs[0]).split(), self.words))[0]
        return from_pixels(picture.permute(1, 2, 0).numpy())


class _View:
    def __init__(self, folder: str):
        self.network, self.vocabulary = load_network(Viewer, folder)

    def look(self, data: bytes) -> ViewerOutput:
        image = read_picture(data)
        if image.size != (SIDE, SIDE):
            image = image.resize((SIDE, SIDE), Image.Resampling.BICUBIC)
        with torch.inference_mode():
            return self.network(to_tensor(np.asarray(image, dtype=np.float32) / np.float32(255)))

    def label(self, view: ViewerOutput, group: int) -> str:
        """Return the likeliest label of a group."""
        return self.vocabulary["groups"][group][int(view.groups[group][0].argmax())]

    def things(self, view: ViewerOutput) -> list[str]:
        """Return the kinds of all things from left to right. Kinds can repeat."""
        chances = view.points[0].softmax(dim=0)
        presence = (1 - chances[0])[None]
        peak = functional.max_pool2d(presence, 5, stride=1, padding=2) == presence
        mass = functional.avg_pool2d(presence, 3, stride=1, padding=1, count_include_pad=True)[0] * 9
        detections = []
        for row, column in torch.nonzero(peak[0] & (mass > _SURE)).tolist():
            kind = int(chances[1:, row, column].argmax())
            left = column + float(view.offsets[0, row, column])
            detections.append((round(left * CELL), row, self.vocabulary["kinds"][kind]))
        return [kind for _, _, kind in sorted(detections)]


class ClassifyPicture(_View):
    def run(self, *inputs: bytes) -> bytes:
        return self.label(self.look(inputs[0]), 0).encode()


class ListThings(_View):
    def run(self, *inputs: bytes) -> bytes:
        """Return the names of all things. Raises SampleError if it finds none."""
        names = self.things(self.look(inputs[0]))
        if not names:
            raise SampleError(BAD_INPUT, "no thing that it is sure of")
        return ", ".join(names).encode()


class DescribePicture(_View):
    """Names the things with their numbers, in the phrases of its vocabulary, and the place."""

    def run(self, *inputs: bytes) -> bytes:
        view = self.look(inputs[0])
        counts = Counter(self.things(view))
        phrases = self.vocabulary["phrases"]
        descriptions = [phrases[kind][min(count, len(phrases[kind])) - 1] for kind, count in counts.items()]
        return f"{' and '.join(descriptions)} {self.label(view, 0)}".strip().encode()


class AnswerAboutPicture(_View):
    """Finds a word, both digits of a number, or a thing. The words of the question decide which."""

    def run(self, *inputs: bytes) -> bytes:
        view = self.look(inputs[0])
        question = read_text(inputs[1]).lower().split()
        topics: list[dict[str, float]] = self.vocabulary["topics"]
        votes = [sum(weights.get(word, 0.0) for word in question) for weights in topics]
        kind_ranges = self.vocabulary["answers"][votes.index(max(votes))]
        best = view.points[0].log_softmax(dim=0)[1:].amax(dim=(1, 2))
        kinds = [begin + int(best[begin:end].argmax()) for begin, end in kind_ranges]
        return "".join(self.vocabulary["kinds"][kind] for kind in kinds).encode()


def to_tensor(pixels: np.ndarray) -> Tensor:
    """(height, width, 3) → (1, 3, height, width)."""
    return torch.from_numpy(np.ascontiguousarray(pixels.transpose(2, 0, 1)))[None]
