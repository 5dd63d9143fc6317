"""Experts for generated pictures: class, objects, caption, questions, colours; and a drawing of what a text says."""

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

_CELLS = ((2, 38), (23, 38), (44, 38), (2, 8), (23, 8), (44, 8))  #: where a drawing puts things, in this order
_NUMBERS = {"two": 2, "three": 3, "four": 4}


def look_at(data: bytes) -> Picture:
    """The picture at the size that is known. Raises SampleError for what is none."""
    image = read_picture(data)
    if image.size != (SIDE, SIDE):
        image = image.resize((SIDE, SIDE), Image.Resampling.BICUBIC)
    return Picture(np.asarray(image, dtype=np.float32) / np.float32(255))


class ClassifyScene:
    """The thing that is most of the picture."""

    def run(self, *inputs: bytes) -> bytes:
        return max(look_at(inputs[0]).things(), key=lambda one: one.explains).name.encode()


class DetectThings:
    """The name of each thing, from left to right."""

    def run(self, *inputs: bytes) -> bytes:
        return ", ".join(one.name for one in look_at(inputs[0]).things()).encode()


class CaptionScene:
    """How many of which things are where."""

    def run(self, *inputs: bytes) -> bytes:
        picture = look_at(inputs[0])
        counted = Counter(one.name for one in picture.things())
        named = [
            count_noun(THINGS[name].noun, THINGS[name].adjective, min(count, 4)).en for name, count in counted.items()
        ]
        return f"{' and '.join(named)} {PLACES[picture.place].phrase.en}".encode()


class AnswerFromScene:
    """What a board says, the thing beside it, or the colour of a thing, by the words of the question."""

    def run(self, *inputs: bytes) -> bytes:
        picture, text = look_at(inputs[0]), read_text(inputs[1]).lower()
        words = set(re.findall(r"\w+", text))
        if words & {"color", "colour"}:
            return colour_of(picture, [name for name, _ in named_things(text)]).encode()
        if words & {"number", "digits"}:
            return picture.number().encode()
        if words & {"thing", "object", "seen", "beside", "next", "stands"}:
            return picture.beside_boards().encode()
        return picture.word().encode()


class Colorize:
    """The lightness of the picture with the colours of a drawing of what it shows."""

    def run(self, *inputs: bytes) -> bytes:
        given = read_picture(inputs[0])
        picture = look_at(inputs[0])
        spots = tuple(Spot(one.name, one.left, one.top, one.size) for one in picture.things())
        drawn = Image.fromarray(draw_scene(Scene(picture.place, spots))).resize(given.size, Image.Resampling.BICUBIC)
        lightness = given.convert("YCbCr").getchannel(0)
        _, blue, red = drawn.convert("YCbCr").split()
        return write_picture(Image.merge("YCbCr", (lightness, blue, red)).convert("RGB"))


class Draw:
    """The things that a text names, as often as it says, in the place that it names."""

    def run(self, *inputs: bytes) -> bytes:
        text = read_text(inputs[0]).lower()
        kinds = [kind for name, count in named_things(text) for kind in [name] * count]
        spots = tuple(Spot(kind, left, top, 19) for kind, (left, top) in zip(kinds, _CELLS, strict=False))
        place = next((name for name, one in PLACES.items() if one.phrase.en in text), next(iter(PLACES)))
        return write_picture(Image.fromarray(draw_scene(Scene(place, spots))))


def named_things(text: str) -> list[tuple[str, int]]:
    """Each kind of thing that a lower-case text names, in its order, and how many it says there are."""
    found = []
    words = re.findall(r"[a-z]+", text)
    kinds = {form: name for name, one in KINDS.items() for form in (one.noun.en_plural, one.noun.en)}
    for at, word in enumerate(words):
        if word in kinds:
            said = [_NUMBERS[one] for one in words[max(0, at - 2) : at] if one in _NUMBERS]
            found.append((kinds[word], said[0] if said else 1))
    return found
