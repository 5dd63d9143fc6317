"""Cats and dogs of any colour, for tasks about the colour of a thing. Samples of OpenAGI's sources have no animals."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from lumos_queue.benchmarks.openagi.data.nouns import BilingualNoun, Phrase
from lumos_queue.benchmarks.openagi.data.things import THINGS, Colour, Part, Thing

_GREY: Colour = (140, 140, 145)
_DARK, _EYE = (45, 40, 40), (120, 200, 90)
_CAT = Thing(
    BilingualNoun("cat", "cats", "Katze", "Katzen", "f"),
    Phrase("grey", "grau"),
    _GREY,
    (
        Part("ellipse", (62, 54, 98, 98)),
        Part("ellipse", (24, 46, 78, 98)),
        Part("polygon", (24, 4, 48, 18, 26, 34)),
        Part("polygon", (78, 4, 54, 18, 76, 34)),
        Part("ellipse", (22, 12, 80, 60)),
        Part("ellipse", (34, 28, 44, 38), _EYE),
        Part("ellipse", (58, 28, 68, 38), _EYE),
        Part("polygon", (47, 42, 55, 42, 51, 48), _DARK),
    ),
)
_DOG = Thing(
    BilingualNoun("dog", "dogs", "Hund", "Hunde", "m"),
    Phrase("grey", "grau"),
    _GREY,
    (
        Part("polygon", (2, 24, 10, 22, 20, 48, 10, 52)),
        Part("ellipse", (8, 40, 76, 74)),
        Part("rectangle", (14, 60, 24, 98)),
        Part("rectangle", (30, 62, 40, 98)),
        Part("rectangle", (50, 62, 60, 98)),
        Part("rectangle", (64, 58, 74, 98)),
        Part("ellipse", (56, 14, 90, 52)),
        Part("ellipse", (76, 28, 99, 48)),
        Part("ellipse", (54, 14, 66, 46), _DARK),
        Part("ellipse", (76, 24, 82, 30), _DARK),
        Part("ellipse", (92, 30, 99, 38), _DARK),
    ),
)
ANIMALS: Mapping[str, Thing] = MappingProxyType({"cat": _CAT, "dog": _DOG})
KINDS: Mapping[str, Thing] = MappingProxyType(THINGS | ANIMALS)  #: everything that can be drawn
#: Name of a colour → red, green and blue, 0 to 255.
COLOURS: Mapping[str, Colour] = MappingProxyType(
    {
        "red": (205, 40, 45),
        "orange": (240, 130, 30),
        "yellow": (240, 210, 50),
        "green": (45, 140, 60),
        "blue": (40, 80, 200),
        "violet": (150, 60, 190),
        "pink": (240, 150, 185),
        "brown": (130, 80, 45),
        "black": (35, 35, 40),
        "grey": _GREY,
        "white": (245, 245, 240),
    }
)
#: word → name of the colour
COLOUR_WORDS: Mapping[str, str] = MappingProxyType(
    {name: name for name in COLOURS} | {"gray": "grey", "purple": "violet"}
)
