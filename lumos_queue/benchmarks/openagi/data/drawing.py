"""Draw pictures of scenes: things in front of a background, and writing on boards.

Pictures have 64 x 64 pixels. With this size, things and writing stay recognizable after every augmentation of the
profile `released`, and small networks learn on a processor within minutes. Everything except writing is drawn four
times as large and averaged. Writing uses Pillow's built-in bitmap font, because system fonts differ between machines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from lumos_queue.benchmarks.openagi.data.animals import KINDS
from lumos_queue.benchmarks.openagi.data.png import Pixels
from lumos_queue.benchmarks.openagi.data.things import MAIN, PLACES, Colour, Part, Place

SIZE = 64  #: pixels of a side
_SCALE = 4
_HORIZON = 34  #: where the ground begins
_LETTER, _LINE = 6, 11  #: width and height of a character of the font
_INK: Colour = (25, 25, 30)


@dataclass(frozen=True, slots=True)
class Spot:
    """A thing in the picture. Position and size are in pixels."""

    thing: str
    left: int
    top: int
    size: int
    colour: Colour | None = None  #: None: the colour of its kind


@dataclass(frozen=True, slots=True)
class Board:
    """A board with writing. The position is in pixels."""

    text: str
    left: int
    top: int
    colour: Colour


@dataclass(frozen=True, slots=True)
class Scene:
    place: str
    spots: tuple[Spot, ...]
    boards: tuple[Board, ...] = ()
    shade: int = 0  #: seed of the shades of its colours


def draw_scene(scene: Scene) -> Pixels:
    """Return the picture of a scene: SIZE x SIZE x 3, uint8."""
    random = Random(f"shades {scene.shade}")
    large = Image.new("RGB", (SIZE * _SCALE, SIZE * _SCALE))
    pen = ImageDraw.Draw(large)
    _draw_place(pen, PLACES[scene.place], random)
    for spot in scene.spots:
        thing = KINDS[spot.thing]
        colour = _shade(spot.colour or thing.colour, random)
        for part in thing.parts:
            draw_part(pen, part, spot, colour)
    small = large.reduce(_SCALE)
    _write_boards(small, scene.boards)
    return np.asarray(small)


def board_size(text: str) -> tuple[int, int]:
    """Return width and height of a board with that text, in pixels."""
    return _LETTER * len(text) + 5, _LINE + 4


def _shade(colour: Colour, random: Random) -> Colour:
    """Return the colour, a little lighter or darker."""
    factor = random.randint(88, 108)
    red, green, blue = (min(255, channel * factor // 100) for channel in colour)
    return red, green, blue


def draw_part(pen: ImageDraw.ImageDraw, part: Part, spot: Spot, colour: Colour) -> None:
    """Draw a part of a thing, four times as large as in the picture."""
    fill = colour if part.colour == MAIN else part.colour
    origin = (spot.left, spot.top)
    points = [(origin[axis % 2] * 100 + value * spot.size) * _SCALE // 100 for axis, value in enumerate(part.points)]
    if part.form == "line":
        pen.line(points, fill=fill, width=max(_SCALE, spot.size * _SCALE // 14))
    elif part.angles:
        getattr(pen, part.form)(points, *part.angles, fill=fill)
    else:
        getattr(pen, part.form)(points, fill=fill)


def _draw_place(pen: ImageDraw.ImageDraw, place: Place, random: Random) -> None:
    side, horizon = SIZE * _SCALE, _HORIZON * _SCALE
    pen.rectangle((0, 0, side, horizon), fill=_shade(place.back, random))
    pen.rectangle((0, horizon, side, side), fill=_shade(place.ground, random))
    for box in _marks(place.pattern, side, horizon, random):
        pen.line(box, fill=place.mark, width=_SCALE)


def _marks(pattern: str, side: int, horizon: int, random: Random) -> Sequence[tuple[int, ...]]:
    """Return the strokes of a ground's pattern, each as x, y, x, y, …"""
    if pattern == "boards":
        lines = range(horizon + 3 * _SCALE, side, 7 * _SCALE)
        return [(0, y, side, y) for y in lines]
    if pattern == "waves":
        return [
            (x, y, x + 3 * _SCALE, y - 2 * _SCALE, x + 6 * _SCALE, y)
            for row, y in enumerate(range(horizon + 4 * _SCALE, side, 6 * _SCALE))
            for x in range((row % 2) * 5 * _SCALE, side, 10 * _SCALE)
        ]
    if pattern == "dashes":
        y = (horizon + side) // 2
        return [(x, y + shift, x + 7 * _SCALE, y + shift) for x in range(0, side, 14 * _SCALE) for shift in (0, _SCALE)]
    points = [(random.randrange(side), random.randrange(horizon, side)) for _ in range(40)]
    if pattern == "tufts":
        return [(x, y, x + _SCALE, y - 3 * _SCALE) for x, y in points]
    return [(x, y, x + _SCALE, y) for x, y in points]


def _write_boards(image: Image.Image, boards: Sequence[Board]) -> None:
    pen, font = ImageDraw.Draw(image), ImageFont.load_default_imagefont()
    for board in boards:
        width, height = board_size(board.text)
        box = (board.left, board.top, board.left + width - 1, board.top + height - 1)
        pen.rectangle(box, fill=board.colour, outline=_INK)
        pen.text((board.left + 3, board.top + 2), board.text, fill=_INK, font=font)
