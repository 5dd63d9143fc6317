"""Finds in a picture what it was drawn from: the place, the things, the writing, by comparing with drawings of each.

What a thing explains is the squared difference between the picture and the bare place, less that between the picture
and the thing, over the pixels that the thing covers. Things are taken in the order of what they explain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from lumos_queue.benchmarks.openagi.data.pictures import WORDS
from lumos_queue.benchmarks.openagi.rules.sprites import (
    Array,
    Sprite,
    board_sprite,
    is_gray,
    place_names,
    place_picture,
    thing_sprites,
    to_gray,
)

SIDE = 64  #: pixels of the pictures it knows
_HORIZON = 34
_LARGE, _SMALL = range(36, 49, 2), (19,)  #: sizes of things in pixels: one alone, one of several
_BESIDE_BOARDS = (22,)
_MAX_SPOTS = 6
_LEAST = 0.4  #: of the difference between picture and bare place, that a thing after the first must explain
_YELLOW, _WHITE = (250, 220, 90), (242, 242, 242)


@dataclass(frozen=True, slots=True)
class Match:
    name: str
    left: int
    top: int
    size: int
    explains: float
    share: float  #: of the difference between picture and bare place where it is


class Picture:
    """A picture of SIDE x SIDE with its place taken off."""

    def __init__(self, pixels: Array):
        self.gray = is_gray(pixels)
        self.pixels = to_gray(pixels) if self.gray else pixels
        self.place, self.bare = _find_place(self.pixels, self.gray)

    def things(self) -> list[Match]:
        """One large thing, or several small ones, whichever explains more; from left to right."""
        large = self._find(_LARGE, 1)
        small = self._find(_SMALL, _MAX_SPOTS)
        best = large if sum(one.explains for one in large) >= sum(one.explains for one in small) else small
        return sorted(best, key=lambda one: (one.left, one.top))

    def beside_boards(self) -> str:
        """The thing in a picture with boards."""
        found = self._find(_BESIDE_BOARDS, 1, self.pixels[_HORIZON - 2 :], self.bare[_HORIZON - 2 :])
        return found[0].name if found else ""

    def word(self) -> str:
        """What the yellow board says, in lower case."""
        sprites = [board_sprite(one.en.upper(), _YELLOW, self.gray) for one in WORDS]
        return self._read(sprites, slice(0, 32)).lower()

    def number(self) -> str:
        """What the white board says."""
        sprites = [board_sprite(str(number), _WHITE, self.gray) for number in range(10, 100)]
        return self._read(sprites, slice(34, SIDE))

    def _read(self, sprites: Sequence[Sprite], rows: slice) -> str:
        part, bare = self.pixels[rows], self.bare[rows]
        return max((match for sprite in sprites if (match := _best(part, bare, [sprite]))), key=_explains).name

    def _find(
        self, sizes: Sequence[int], most: int, pixels: Array | None = None, bare: Array | None = None
    ) -> list[Match]:
        pixels, bare = (self.pixels if pixels is None else pixels).copy(), self.bare if bare is None else bare
        found: list[Match] = []
        while len(found) < most:
            candidates = (_best(pixels, bare, thing_sprites(size, self.gray)) for size in sizes)
            match = max((one for one in candidates if one), key=_explains, default=None)
            if match is None or (found and match.share < _LEAST):
                break
            found.append(match)
            box = np.s_[match.top : match.top + match.size, match.left : match.left + match.size]
            pixels[box] = bare[box]
        return found


def _explains(match: Match) -> float:
    return match.explains


def _best(pixels: Array, bare: Array, sprites: Sequence[Sprite]) -> Match | None:
    """The sprite and position that explain most, for sprites of one size; None where none fits into the picture."""
    height, width = sprites[0].mask.shape
    if height > pixels.shape[0] or width > pixels.shape[1]:
        return None
    masks = np.stack([one.mask.ravel() for one in sprites], axis=1)
    colours = np.stack([one.colours.transpose(2, 0, 1).ravel() for one in sprites], axis=1)
    windows = sliding_window_view(pixels, (height, width), axis=(0, 1))
    rows, columns = windows.shape[:2]
    places = rows * columns
    apart, light = (
        sliding_window_view(plane.sum(axis=2), (height, width)).reshape(places, -1) @ masks
        for plane in ((pixels - bare) ** 2, pixels**2)
    )
    explained = apart - light + 2 * (windows.reshape(places, -1) @ colours) - (colours**2).sum(axis=0)
    at, which = divmod(int(explained.argmax()), len(sprites))
    top, left = divmod(at, columns)
    explains = float(explained.max())
    return Match(sprites[which].name, left, top, width, explains, explains / max(1e-6, float(apart[at, which])))


def _find_place(pixels: Array, gray: bool) -> tuple[str, Array]:
    """The place whose drawing, as dark or light as this picture's halves, is nearest to most of its pixels."""
    best, nearest, bare = np.inf, "", pixels
    for name in place_names():
        drawn = place_picture(name, gray).copy()
        for half in (np.s_[:_HORIZON], np.s_[_HORIZON:]):
            middle, aim = np.median(drawn[half], axis=(0, 1)), np.median(pixels[half], axis=(0, 1))
            drawn[half] *= np.clip((aim @ middle) / max(1e-6, float(middle @ middle)), 0.85, 1.12)
        apart = float(np.minimum(((drawn - pixels) ** 2).mean(axis=2), 0.02).mean())
        if apart < best:
            best, nearest, bare = apart, name, drawn
    return nearest, bare
