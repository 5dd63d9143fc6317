"""Finds the place, the things and the writing of a picture, by comparing the picture with drawings of them.

The amount that a thing explains is computed over the pixels that it covers: the squared difference between the picture
and the place without things, minus the squared difference between the picture and the thing. The thing that explains
most is found first.
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

SIDE = 64  #: pixels of a side
_HORIZON = 34
_LARGE, _SMALL = range(36, 49, 2), (19,)  #: sizes in pixels of a single thing, and of things among several
_BESIDE_BOARDS = (22,)
_MAX_SPOTS = 6
_LEAST = 0.4  #: share of the difference between picture and bare place that a thing after the first must explain
_YELLOW, _WHITE = (250, 220, 90), (242, 242, 242)


@dataclass(frozen=True, slots=True)
class Match:
    name: str
    left: int
    top: int
    size: int
    explains: float  #: squared difference, summed over pixels and channels
    share: float  #: the same as a share of the difference between picture and bare place


class Picture:
    """A picture of SIDE x SIDE, with the picture of its place without things (`bare`)."""

    def __init__(self, pixels: Array):
        self.gray = is_gray(pixels)
        self.pixels = to_gray(pixels) if self.gray else pixels
        self.place, self.bare = _find_place(self.pixels, self.gray)

    def things(self) -> list[Match]:
        """Return the things from left to right: one large thing or several small things, whichever explain more."""
        large = self._find(_LARGE, 1)
        small = self._find(_SMALL, _MAX_SPOTS)
        best = large if sum(match.explains for match in large) >= sum(match.explains for match in small) else small
        return sorted(best, key=lambda match: (match.left, match.top))

    def beside_boards(self) -> str:
        """Return the name of the thing in a picture with boards; '' if there is none."""
        matches = self._find(_BESIDE_BOARDS, 1, self.pixels[_HORIZON - 2 :], self.bare[_HORIZON - 2 :])
        return matches[0].name if matches else ""

    def word(self) -> str:
        """Return the word on the yellow board, in lower case."""
        sprites = [board_sprite(word.en.upper(), _YELLOW, self.gray) for word in WORDS]
        return self._read(sprites, slice(0, 32)).lower()

    def number(self) -> str:
        """Return the number on the white board."""
        sprites = [board_sprite(str(number), _WHITE, self.gray) for number in range(10, 100)]
        return self._read(sprites, slice(34, SIDE))

    def _read(self, sprites: Sequence[Sprite], rows: slice) -> str:
        part, bare = self.pixels[rows], self.bare[rows]
        return max((match for sprite in sprites if (match := _best(part, bare, [sprite]))), key=_explains).name

    def _find(
        self, sizes: Sequence[int], limit: int, pixels: Array | None = None, bare: Array | None = None
    ) -> list[Match]:
        pixels, bare = (self.pixels if pixels is None else pixels).copy(), self.bare if bare is None else bare
        matches: list[Match] = []
        while len(matches) < limit:
            candidates = (_best(pixels, bare, thing_sprites(size, self.gray)) for size in sizes)
            match = max((candidate for candidate in candidates if candidate), key=_explains, default=None)
            if match is None or (matches and match.share < _LEAST):
                break
            matches.append(match)
            box = np.s_[match.top : match.top + match.size, match.left : match.left + match.size]
            pixels[box] = bare[box]
        return matches


def _explains(match: Match) -> float:
    return match.explains


def _best(pixels: Array, bare: Array, sprites: Sequence[Sprite]) -> Match | None:
    """Return the match that explains most, over sprites of the same size; None if they are larger than the picture."""
    height, width = sprites[0].mask.shape
    if height > pixels.shape[0] or width > pixels.shape[1]:
        return None
    masks = np.stack([sprite.mask.ravel() for sprite in sprites], axis=1)
    colours = np.stack([sprite.colours.transpose(2, 0, 1).ravel() for sprite in sprites], axis=1)
    windows = sliding_window_view(pixels, (height, width), axis=(0, 1))
    rows, columns = windows.shape[:2]
    window_count = rows * columns
    apart, light = (
        sliding_window_view(plane.sum(axis=2), (height, width)).reshape(window_count, -1) @ masks
        for plane in ((pixels - bare) ** 2, pixels**2)
    )
    explained_differences = apart - light + 2 * (windows.reshape(window_count, -1) @ colours) - (colours**2).sum(axis=0)
    window, sprite_index = divmod(int(explained_differences.argmax()), len(sprites))
    top, left = divmod(window, columns)
    explains = float(explained_differences.max())
    return Match(
        sprites[sprite_index].name, left, top, width, explains, explains / max(1e-6, float(apart[window, sprite_index]))
    )


def _find_place(pixels: Array, gray: bool) -> tuple[str, Array]:
    """Return the place whose drawing differs least from the picture, and the drawing. Large differences are limited.

    Before, the upper and the lower part of the drawing get the lightness of the same part of the picture.
    """
    best, nearest, bare = np.inf, "", pixels
    for name in place_names():
        drawing = place_picture(name, gray).copy()
        for half in (np.s_[:_HORIZON], np.s_[_HORIZON:]):
            middle, aim = np.median(drawing[half], axis=(0, 1)), np.median(pixels[half], axis=(0, 1))
            drawing[half] *= np.clip((aim @ middle) / max(1e-6, float(middle @ middle)), 0.85, 1.12)
        apart = float(np.minimum(((drawing - pixels) ** 2).mean(axis=2), 0.02).mean())
        if apart < best:
            best, nearest, bare = apart, name, drawing
    return nearest, bare
