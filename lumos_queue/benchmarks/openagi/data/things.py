"""The kinds of things that pictures show: their shapes, colours and names.

Each kind has one colour and its own shape, so that the colour can be inferred from the shape in a gray picture. Parts
are drawn in their order, in a box of 100 x 100.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from lumos_queue.benchmarks.openagi.data.nouns import BilingualNoun, Phrase

Colour = tuple[int, int, int]
MAIN: Colour = (-1, -1, -1)  #: in a part: the thing's main colour


@dataclass(frozen=True, slots=True)
class Part:
    form: str  #: a method of ImageDraw: 'ellipse', 'rectangle', 'polygon', 'line', 'chord' or 'pieslice'
    points: tuple[int, ...]  #: x, y, x, y, …
    colour: Colour = MAIN
    angles: tuple[int, ...] = ()  #: start and end of a chord or pie slice, in degrees clockwise from the right


@dataclass(frozen=True, slots=True)
class Thing:
    noun: BilingualNoun
    adjective: Phrase  #: the name of its colour
    colour: Colour
    parts: tuple[Part, ...]


RED, YELLOW, GREEN, BLUE = (
    Phrase("red", "rot"),
    Phrase("yellow", "gelb"),
    Phrase("green", "grün"),
    Phrase("blue", "blau"),
)
WHITE, BLACK, BROWN = Phrase("white", "weiß"), Phrase("black", "schwarz"), Phrase("brown", "braun")
ORANGE, VIOLET, GOLDEN = Phrase("orange", "orangefarben"), Phrase("violet", "violett"), Phrase("golden", "golden")
_DARK, _TRUNK, _LEAF, _GLASS = (45, 40, 40), (105, 70, 40), (60, 140, 50), (200, 225, 240)

_ALL = (
    Thing(
        BilingualNoun("apple", "apples", "Apfel", "Äpfel", "m"),
        RED,
        (205, 35, 40),
        (
            Part("line", (50, 30, 56, 6), _TRUNK),
            Part("ellipse", (54, 4, 82, 20), _LEAF),
            Part("ellipse", (8, 22, 60, 92)),
            Part("ellipse", (40, 22, 92, 92)),
            Part("ellipse", (22, 34, 36, 52), (240, 150, 145)),
        ),
    ),
    Thing(
        BilingualNoun("banana", "bananas", "Banane", "Bananen", "f"),
        YELLOW,
        (240, 210, 50),
        (
            Part("polygon", (10, 20, 18, 14, 30, 44, 52, 62, 80, 62, 96, 54, 96, 66, 78, 84, 48, 86, 22, 68, 10, 42)),
            Part("polygon", (10, 20, 18, 14, 18, 4, 10, 6), _TRUNK),
            Part("polygon", (92, 56, 99, 52, 99, 64, 92, 68), _DARK),
        ),
    ),
    Thing(
        BilingualNoun("tree", "trees", "Baum", "Bäume", "m"),
        GREEN,
        (45, 130, 55),
        (
            Part("rectangle", (42, 60, 58, 99), _TRUNK),
            Part("polygon", (50, 0, 82, 34, 18, 34)),
            Part("polygon", (50, 14, 90, 54, 10, 54)),
            Part("polygon", (50, 32, 98, 78, 2, 78)),
        ),
    ),
    Thing(
        BilingualNoun("house", "houses", "Haus", "Häuser", "n"),
        BROWN,
        (150, 95, 55),
        (
            Part("rectangle", (12, 44, 88, 98)),
            Part("polygon", (50, 4, 99, 46, 1, 46), (90, 45, 35)),
            Part("rectangle", (56, 62, 76, 98), _DARK),
            Part("rectangle", (22, 56, 44, 76), (245, 230, 150)),
        ),
    ),
    Thing(
        BilingualNoun("car", "cars", "Auto", "Autos", "n"),
        BLUE,
        (40, 80, 200),
        (
            Part("polygon", (22, 46, 36, 24, 68, 24, 82, 46)),
            Part("rectangle", (2, 46, 98, 74)),
            Part("polygon", (32, 44, 41, 31, 50, 31, 50, 44), _GLASS),
            Part("polygon", (55, 31, 64, 31, 72, 44, 55, 44), _GLASS),
            Part("ellipse", (12, 60, 40, 88), _DARK),
            Part("ellipse", (60, 60, 88, 88), _DARK),
            Part("ellipse", (22, 70, 30, 78), _GLASS),
            Part("ellipse", (70, 70, 78, 78), _GLASS),
        ),
    ),
    Thing(
        BilingualNoun("boat", "boats", "Boot", "Boote", "n"),
        WHITE,
        (245, 245, 240),
        (
            Part("line", (48, 4, 48, 72), _TRUNK),
            Part("polygon", (54, 8, 54, 64, 96, 64)),
            Part("polygon", (42, 16, 42, 64, 10, 64)),
            Part("polygon", (2, 70, 98, 70, 80, 96, 20, 96), (90, 45, 35)),
        ),
    ),
    Thing(
        BilingualNoun("flower", "flowers", "Blume", "Blumen", "f"),
        VIOLET,
        (150, 60, 190),
        (
            Part("line", (50, 50, 50, 99), _LEAF),
            Part("ellipse", (52, 74, 84, 88), _LEAF),
            Part("ellipse", (34, 0, 66, 32)),
            Part("ellipse", (10, 18, 42, 50)),
            Part("ellipse", (58, 18, 90, 50)),
            Part("ellipse", (18, 40, 50, 72)),
            Part("ellipse", (50, 40, 82, 72)),
            Part("ellipse", (37, 25, 63, 51), (245, 215, 60)),
        ),
    ),
    Thing(
        BilingualNoun("fish", "fish", "Fisch", "Fische", "m"),
        ORANGE,
        (240, 130, 30),
        (
            Part("polygon", (30, 50, 2, 20, 2, 80)),
            Part("ellipse", (18, 22, 98, 78)),
            Part("polygon", (46, 26, 62, 8, 74, 28)),
            Part("ellipse", (76, 38, 86, 48), _DARK),
            Part("line", (64, 34, 64, 66), (250, 225, 190)),
        ),
    ),
    Thing(
        BilingualNoun("bird", "birds", "Vogel", "Vögel", "m"),
        BLACK,
        (35, 35, 45),
        (
            Part("polygon", (26, 58, 0, 40, 4, 66)),
            Part("ellipse", (16, 36, 78, 82)),
            Part("ellipse", (56, 14, 92, 50)),
            Part("polygon", (88, 26, 100, 34, 88, 40), (240, 180, 40)),
            Part("ellipse", (74, 24, 82, 32), (250, 250, 250)),
            Part("line", (42, 80, 42, 98), (240, 180, 40)),
            Part("line", (56, 80, 56, 98), (240, 180, 40)),
        ),
    ),
    Thing(
        BilingualNoun("cup", "cups", "Tasse", "Tassen", "f"),
        GREEN,
        (70, 170, 120),
        (
            Part("ellipse", (58, 30, 99, 74)),
            Part("ellipse", (68, 40, 89, 64), (225, 225, 220)),
            Part("polygon", (6, 18, 76, 18, 68, 92, 14, 92)),
            Part("ellipse", (6, 10, 76, 28), (60, 40, 30)),
        ),
    ),
    Thing(
        BilingualNoun("ball", "balls", "Ball", "Bälle", "m"),
        RED,
        (220, 60, 60),
        (
            Part("ellipse", (4, 4, 96, 96)),
            Part("chord", (4, 4, 96, 96), (245, 245, 240), (222, 318)),
            Part("chord", (4, 4, 96, 96), (245, 245, 240), (42, 138)),
        ),
    ),
    Thing(
        BilingualNoun("bell", "bells", "Glocke", "Glocken", "f"),
        GOLDEN,
        (215, 165, 50),
        (
            Part("ellipse", (40, 76, 60, 98), _DARK),
            Part("ellipse", (44, 0, 56, 14), _DARK),
            Part("pieslice", (20, 6, 80, 90), MAIN, (180, 360)),
            Part("polygon", (20, 46, 80, 46, 96, 82, 4, 82)),
        ),
    ),
)
THINGS = MappingProxyType({thing.noun.en: thing for thing in _ALL})


@dataclass(frozen=True, slots=True)
class Place:
    """A background: the colours behind and below the things, and a pattern of the ground."""

    name: str
    phrase: Phrase
    back: Colour
    ground: Colour
    mark: Colour
    pattern: str  #: 'tufts', 'dots', 'dashes', 'boards' or 'waves'


_PLACES = (
    Place("meadow", Phrase("in a meadow", "auf einer Wiese"), (150, 200, 240), (120, 190, 90), (80, 150, 60), "tufts"),
    Place("beach", Phrase("on a beach", "an einem Strand"), (110, 190, 225), (235, 215, 160), (205, 180, 120), "dots"),
    Place(
        "street", Phrase("on a street", "auf einer Straße"), (200, 205, 215), (125, 125, 130), (235, 235, 235), "dashes"
    ),
    Place("room", Phrase("in a room", "in einem Zimmer"), (235, 205, 175), (170, 120, 80), (130, 85, 50), "boards"),
    Place("sea", Phrase("by the sea", "am Meer"), (190, 220, 245), (50, 110, 180), (110, 165, 220), "waves"),
)
PLACES = MappingProxyType({place.name: place for place in _PLACES})
