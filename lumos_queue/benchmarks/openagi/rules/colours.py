"""Sum2Act's visual APIs by rule, for generated pictures: one changes the colour of a thing, one fills outlines."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from PIL import Image

from lumos_queue.benchmarks.openagi.data.animals import COLOUR_WORDS, COLOURS, KINDS
from lumos_queue.benchmarks.openagi.data.things import PLACES
from lumos_queue.benchmarks.openagi.rules.outlines import find_named, foreground, own_colour, share_of
from lumos_queue.benchmarks.openagi.rules.pictures import find_named_things, look_at
from lumos_queue.benchmarks.openagi.rules.recognition import Picture
from lumos_queue.benchmarks.openagi.rules.sprites import Array, place_picture
from lumos_queue.experts.backends.pixels import from_pixels, read_text, to_pixels
from lumos_queue.experts.problems import BAD_INPUT, SampleError

_EDGE = 0.12  #: difference of neighbouring pixels' lightness that is drawn as a line
_INK = 0.15  #: lightness of such a line
_LUMA = np.array([0.299, 0.587, 0.114], np.float32)


class Recolour:
    """Changes the colour of all things of one kind: `make the dog red`. The rest of the picture stays as it is."""

    def run(self, *inputs: bytes) -> bytes:
        text = read_text(inputs[1]).lower()
        names = list(dict.fromkeys(name for name, _ in find_named_things(text)))
        colours = _find_colours(text)
        if len(names) != 1 or len(colours) != 1:
            raise SampleError(BAD_INPUT, "expected one thing and one colour, such as 'make the dog red'")
        pixels, picture = to_pixels(inputs[0]), look_at(inputs[0])
        if picture.gray:
            raise SampleError(BAD_INPUT, "the picture has no colours")
        aim: Array = np.array(COLOURS[colours[0]], np.float32) / np.float32(255)
        for thing in find_named(picture, names):
            thing_colour = own_colour(picture, thing)
            share = _resize(np.minimum(share_of(thing), _nearness(picture, thing_colour)), pixels)
            pixels = (pixels + share[..., None] * (aim - thing_colour)).astype(np.float32)
        return from_pixels(pixels)


class PaintOutlines:
    """Fills the outlines of a picture with the colour that a text names, or with the colour of the thing that it names.

    The background shows the place that the text names, or is white. Lines within the outlines are drawn dark.
    """

    def run(self, *inputs: bytes) -> bytes:
        pixels, text = to_pixels(inputs[0]), read_text(inputs[1]).lower()
        colours = [COLOURS[name] for name in _find_colours(text)] or [
            KINDS[name].colour for name, _ in find_named_things(text)
        ]
        if not colours:
            raise SampleError(BAD_INPUT, "expected a colour or a thing, such as 'a red car on a beach'")
        share = _resize(foreground(look_at(inputs[0])), pixels)[..., None]
        place_name = next((name for name, place in PLACES.items() if place.phrase.en in text), "")
        behind = _resize(place_picture(place_name, False), pixels) if place_name else np.ones_like(pixels)
        painting = share * np.array(colours[0], np.float32) / 255 + (1 - share) * behind
        lines = (_edges(pixels) & (share[..., 0] > 0.5))[..., None]
        return from_pixels(np.where(lines, np.float32(_INK), painting))


def _nearness(picture: Picture, colour: Array) -> Array:
    """Return for each pixel its share of a colour, from 0 (the background) to 1. The rim of a thing has a mixture."""
    way = colour - picture.bare
    return (((picture.pixels - picture.bare) * way).sum(axis=2) / ((way**2).sum(axis=2) + 1e-6)).clip(0, 1)


def _find_colours(text: str) -> list[str]:
    """Return the colours that a lower-case text names, each once."""
    return list(dict.fromkeys(COLOUR_WORDS[word] for word in re.findall(r"[a-z]+", text) if word in COLOUR_WORDS))


def _edges(pixels: Array) -> np.ndarray:
    """Return whether lightness changes from each pixel to the pixel below or to the right: height x width, bool."""
    light = pixels @ _LUMA
    down, right = (np.abs(np.diff(light, axis=axis, append=_last(light, axis))) for axis in (0, 1))
    return np.maximum(down, right) > _EDGE


def _last(light: Array, axis: int) -> Array:
    return light[-1:, :] if axis == 0 else light[:, -1:]


def _resize(planes: Array, like: Array) -> Array:
    """Return an array of height x width (x channels), resized to the height and width of `like`."""
    size: Sequence[int] = like.shape[1::-1]
    if planes.shape[:2] == like.shape[:2]:
        return planes
    if planes.ndim == 3:
        return np.stack([_resize(planes[..., channel], like) for channel in range(planes.shape[2])], axis=2)
    return np.asarray(Image.fromarray(planes).resize((size[0], size[1]), Image.Resampling.BILINEAR))
