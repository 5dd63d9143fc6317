"""Experts for generated pictures: class, objects, caption, questions, colours; and drawings of texts."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
from PIL import Image

from lumos_queue.benchmarks.openagi.data.animals import KINDS
from lumos_queue.benchmarks.openagi.data.drawing import Scene, Spot, draw_scene
from lumos_queue.benchmarks.openagi.data.nouns import count_noun
from lumos_queue.benchmarks.openagi.data.things import PLACES, THINGS
from lumos_queue.benchmarks.openagi.rules.outlines import colour_of
from lumos_queue.benchmarks.openagi.rules.recognition import SIDE, Picture
from lumos_queue.experts.backends.pixels import read_picture, read_text, write_picture

_CELLS = ((2, 38), (23, 38), (44, 38), (2, 8), (23, 8), (44, 8))  #: positions of things in a drawing, in this order
_NUMBERS = {"two": 2, "three": 3, "four": 4}


def look_at(data: bytes) -> Picture:
    """Return a picture, resized to SIDE x SIDE. Raises SampleError if the bytes are no picture."""
    image = read_picture(data)
    if image.size != (SIDE, SIDE):
        image = image.resize((SIDE, SIDE), Image.Resampling.BICUBIC)
    return Picture(np.asarray(image, dtype=np.float32) / np.float32(255))


class ClassifyScene:
    """Names the thing that explains most of the picture (recognition.py)."""

    def run(self, *inputs: bytes) -> bytes:
        return max(look_at(inputs[0]).things(), key=lambda match: match.explains).name.encode()


class DetectThings:
    """Names each thing, from left to right."""

    def run(self, *inputs: bytes) -> bytes:
        return ", ".join(match.name for match in look_at(inputs[0]).things()).encode()


class CaptionScene:
    """Names the kinds of things with their numbers, and the place."""

    def run(self, *inputs: bytes) -> bytes:
        picture = look_at(inputs[0])
        counts = Counter(match.name for match in picture.things())
        phrases = [
            count_noun(THINGS[name].noun, THINGS[name].adjective, min(count, 4)).en for name, count in counts.items()
        ]
        return f"{' and '.join(phrases)} {PLACES[picture.place].phrase.en}".encode()


class AnswerFromScene:
    """Returns the text of a board, the thing beside it, or a thing's colour, as the words of the question request."""

    def run(self, *inputs: bytes) -> bytes:
        picture, text = look_at(inputs[0]), read_text(inputs[1]).lower()
        words = set(re.findall(r"\w+", text))
        if words & {"color", "colour"}:
            return colour_of(picture, [name for name, _ in find_named_things(text)]).encode()
        if words & {"number", "digits"}:
            return picture.number().encode()
        if words & {"thing", "object", "seen", "beside", "next", "stands"}:
            return picture.beside_boards().encode()
        return picture.word().encode()


class Colorize:
    """Combines the lightness of the picture with the colours of a drawing of the same scene."""

    def run(self, *inputs: bytes) -> bytes:
        original = read_picture(inputs[0])
        picture = look_at(inputs[0])
        spots = tuple(Spot(match.name, match.left, match.top, match.size) for match in picture.things())
        drawing = Image.fromarray(draw_scene(Scene(picture.place, spots))).resize(
            original.size, Image.Resampling.BICUBIC
        )
        lightness = original.convert("YCbCr").getchannel(0)
        _, blue, red = drawing.convert("YCbCr").split()
        return write_picture(Image.merge("YCbCr", (lightness, blue, red)).convert("RGB"))


class Draw:
    """Draws the things that a text names, in the numbers and at the place that the text names."""

    def run(self, *inputs: bytes) -> bytes:
        text = read_text(inputs[0]).lower()
        kinds = [kind for name, count in find_named_things(text) for kind in [name] * count]
        spots = tuple(Spot(kind, left, top, 19) for kind, (left, top) in zip(kinds, _CELLS, strict=False))
        place_name = next((name for name, place in PLACES.items() if place.phrase.en in text), next(iter(PLACES)))
        return write_picture(Image.fromarray(draw_scene(Scene(place_name, spots))))


def find_named_things(text: str) -> list[tuple[str, int]]:
    """Return pairs (kind of thing, number) for the kinds that a lower-case text names, in order; 1 without a number."""
    names = []
    words = re.findall(r"[a-z]+", text)
    kinds = {form: name for name, kind in KINDS.items() for form in (kind.noun.en_plural, kind.noun.en)}
    for index, word in enumerate(words):
        if word in kinds:
            numbers = [_NUMBERS[word] for word in words[max(0, index - 2) : index] if word in _NUMBERS]
            names.append((kinds[word], numbers[0] if numbers else 1))
    return names
