"""Finds things by their outlines, whatever their colours, to answer questions about colours and to change colours.

The foreground is compared with the outline of each kind of thing at each size and position. The fit of an outline is
the number of foreground pixels that it covers, minus the number of other pixels that it covers, minus the number of
foreground pixels in its box that it does not cover.
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
_LARGE, _SMALL = range(36, 49, 2), (19,)  #: sizes in pixels of a single thing, and of things among several
_MAX_THINGS = 6
_LEAST = 0.5  #: the least fit, as a share of the outline's pixels
_SHADES = (0.88, 0.94, 1.0, 1.08)  #: factors of a colour as it is drawn


@dataclass(frozen=True, slots=True)
class Outline:
    """A thing and where it is, in pixels."""

    name: str
    left: int
    top: int
    size: int
    fit: float  #: in pixels


def foreground(picture: Picture) -> Array:
    """Return 1 for each pixel that differs from the background, with most of its neighbours; 0 for other pixels."""
    apart = (np.abs(picture.pixels - picture.bare).max(axis=2) > _STANDS_OUT).astype(np.float32)
    around = sliding_window_view(np.pad(apart, 1), (3, 3)).sum(axis=(2, 3))
    return ((around >= 5) & (apart > 0)).astype(np.float32)


def find_outlines(picture: Picture) -> list[Outline]:
    """Return the outlines from left to right: one large thing or several small things, whichever fit more pixels."""
    shape = foreground(picture)
    large, small = _find(shape, _LARGE, 1), _find(shape, _SMALL, _MAX_THINGS)
    best = large if sum(outline.fit for outline in large) >= sum(outline.fit for outline in small) else small
    return sorted(best, key=lambda outline: (outline.left, outline.top))


def find_named(picture: Picture, names: Collection[str]) -> list[Outline]:
    """Return the things of these kinds, or all things if `names` is empty. Raises SampleError if there are none."""
    outlines = find_outlines(picture)
    matching_outlines = [outline for outline in outlines if outline.name in names or not names]
    if not matching_outlines:
        visible_names = ", ".join(outline.name for outline in outlines) or "nothing that is known"
        raise SampleError(BAD_INPUT, f"no {' or '.join(names) or 'thing'} is seen; there is {visible_names}")
    return matching_outlines


def colour_of(picture: Picture, names: Sequence[str]) -> str:
    """Return the name of the colour of the first of these things.

    Raises SampleError like `find_named`, and for a gray picture.
    """
    if picture.gray:
        raise SampleError(BAD_INPUT, "the picture has no colours")
    return name_colour(own_colour(picture, find_named(picture, names)[0]))


def own_colour(picture: Picture, thing: Outline) -> Array:
    """Return the median of the pixels that have the thing's main colour: 3 channels, 0 to 1."""
    box = picture.pixels[thing.top : thing.top + thing.size, thing.left : thing.left + thing.size]
    return np.median(box[main_share(thing.name, thing.size) > 0.95], axis=0)


def name_colour(colour: Array) -> str:
    """Return the name of the nearest colour. Slightly lighter and darker shades of each colour are compared, too."""
    colours = {name: np.array(rgb, np.float32) / 255 for name, rgb in COLOURS.items()}
    return min(colours, key=lambda name: min(float(((colours[name] * f - colour) ** 2).sum()) for f in _SHADES))


def share_of(thing: Outline) -> Array:
    """Return for each pixel of the picture the share that has the thing's main colour: SIDE x SIDE, 0 to 1."""
    shares = np.zeros((SIDE, SIDE), np.float32)
    shares[thing.top : thing.top + thing.size, thing.left : thing.left + thing.size] = main_share(
        thing.name, thing.size
    )
    return shares


def _find(shape: Array, sizes: Sequence[int], limit: int) -> list[Outline]:
    remaining, outlines = shape.copy(), []
    while len(outlines) < limit:
        best = max((_best(remaining, size) for size in sizes), key=lambda outline: outline.fit)
        mask = outline_masks(best.size)[list(KINDS).index(best.name)]
        if best.fit < _LEAST * float(mask.sum()):
            break
        outlines.append(best)
        remaining[best.top : best.top + best.size, best.left : best.left + best.size] = 0
    return outlines


def _best(shape: Array, size: int) -> Outline:
    """Return the outline with the best fit, over all kinds and positions of things of this size."""
    masks = outline_masks(size).reshape(len(KINDS), -1)
    windows = sliding_window_view(shape, (size, size))
    rows, columns = windows.shape[:2]
    flat = windows.reshape(rows * columns, -1)
    fits = 3 * flat @ masks.T - masks.sum(axis=1) - flat.sum(axis=1, keepdims=True)
    window, kind_index = divmod(int(fits.argmax()), len(KINDS))
    top, left = divmod(window, columns)
    return Outline(list(KINDS)[kind_index], left, top, size, float(fits[window, kind_index]))
