"""Finds things by their outlines, whatever their colours: for questions about colours, and for changing them.

What stands out from the bare place is compared with the outline of each kind of thing at each size and position. A
fit counts what it covers, less what it covers too much and what it leaves out within its box.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from lumos_queue.benchmarks.openagi.data.animals import COLOURS, KINDS
from lumos_queue.benchmarks.openagi.rules.recognition import SIDE, Picture
from lumos_queue.benchmarks.openagi.rules.sprites import Array, main_share, outline_masks
from lumos_queue.experts.problems import BAD_INPUT, SampleError

_STANDS_OUT = 0.1  #: difference of a channel to the bare place, 0 to 1
_LARGE, _SMALL = range(36, 49, 2), (19,)  #: sizes of things in pixels: one alone, one of several
_MAX_THINGS = 6
_LEAST = 0.5  #: of its box's own pixels, that a fit must count
_SHADES = (0.88, 0.94, 1.0, 1.08)  #: factors of a colour as it is drawn


@dataclass(frozen=True, slots=True)
class Outline:
    """A thing and where it is, in pixels."""

    name: str
    left: int
    top: int
    size: int
    fit: float  #: pixels that count for it


def foreground(picture: Picture) -> Array:
    """The pixels that are not of the bare place: 0 or 1; single ones are left out."""
    apart = (np.abs(picture.pixels - picture.bare).max(axis=2) > _STANDS_OUT).astype(np.float32)
    around = sliding_window_view(np.pad(apart, 1), (3, 3)).sum(axis=(2, 3))
    return ((around >= 5) & (apart > 0)).astype(np.float32)


def find_outlines(picture: Picture) -> list[Outline]:
    """One large thing, or several small ones, whichever covers more of what stands out; from left to right."""
    shape = foreground(picture)
    large, small = _find(shape, _LARGE, 1), _find(shape, _SMALL, _MAX_THINGS)
    best = large if sum(one.fit for one in large) >= sum(one.fit for one in small) else small
    return sorted(best, key=lambda one: (one.left, one.top))


def find_named(picture: Picture, names: Collection[str]) -> list[Outline]:
    """The things of these kinds, or all where none is named. Raises SampleError where there is none."""
    found = find_outlines(picture)
    named = [one for one in found if one.name in names or not names]
    if not named:
        there = ", ".join(one.name for one in found) or "nothing that is known"
        raise SampleError(BAD_INPUT, f"no {' or '.join(names) or 'thing'} is seen; there is {there}")
    return named


def colour_of(picture: Picture, names: Sequence[str]) -> str:
    """The name of the colour of the first of these things. Raises SampleError as `find_named`, and without colours."""
    if picture.gray:
        raise SampleError(BAD_INPUT, "the picture has no colours")
    return name_colour(own_colour(picture, find_named(picture, names)[0]))


def own_colour(picture: Picture, thing: Outline) -> Array:
    """The median of the pixels that have the thing's own colour: 3 channels, 0 to 1."""
    box = picture.pixels[thing.top : thing.top + thing.size, thing.left : thing.left + thing.size]
    return np.median(box[main_share(thing.name, thing.size) > 0.95], axis=0)


def name_colour(colour: Array) -> str:
    """The name of the nearest colour, a little lighter or darker."""
    known = {name: np.array(one, np.float32) / 255 for name, one in COLOURS.items()}
    return min(known, key=lambda name: min(float(((known[name] * f - colour) ** 2).sum()) for f in _SHADES))


def share_of(thing: Outline) -> Array:
    """How much of each pixel of the picture is of the thing's own colour: SIDE x SIDE, 0 to 1."""
    found = np.zeros((SIDE, SIDE), np.float32)
    found[thing.top : thing.top + thing.size, thing.left : thing.left + thing.size] = main_share(thing.name, thing.size)
    return found


def _find(shape: Array, sizes: Sequence[int], most: int) -> list[Outline]:
    left, found = shape.copy(), []
    while len(found) < most:
        best = max((_best(left, size) for size in sizes), key=lambda one: one.fit)
        mask = outline_masks(best.size)[list(KINDS).index(best.name)]
        if best.fit < _LEAST * float(mask.sum()):
            break
        found.append(best)
        left[best.top : best.top + best.size, best.left : best.left + best.size] = 0
    return found


def _best(shape: Array, size: int) -> Outline:
    """The thing and position that fit best, for things of one size."""
    masks = outline_masks(size).reshape(len(KINDS), -1)
    windows = sliding_window_view(shape, (size, size))
    rows, columns = windows.shape[:2]
    flat = windows.reshape(rows * columns, -1)
    fits = 3 * flat @ masks.T - masks.sum(axis=1) - flat.sum(axis=1, keepdims=True)
    at, which = divmod(int(fits.argmax()), len(KINDS))
    top, left = divmod(at, columns)
    return Outline(list(KINDS)[which], left, top, size, float(fits[at, which]))
