"""Generate the tasks of the four cases, each from a seed of its case and number.

A task's question names its pictures as models name them (actions/local/images.py); `channels` has the pictures. The
gold solution is a sequence of calls (`steps`, which check.py reads). It has no answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from types import MappingProxyType
from typing import Any

from lumos_queue.actions.local.documents import SEARCH, TAKE_PICTURE, local_functions
from lumos_queue.actions.local.images import CAMERA, CHANNELS, write_image
from lumos_queue.benchmarks.openagi.data.animals import COLOUR_WORDS, COLOURS, KINDS
from lumos_queue.benchmarks.openagi.data.drawing import SIZE, Scene, Spot, draw_scene
from lumos_queue.benchmarks.openagi.data.nouns import article
from lumos_queue.benchmarks.openagi.data.png import write_png
from lumos_queue.benchmarks.openagi.data.things import PLACES
from lumos_queue.records import Task

NAME = "sum2act_visual"
CONDITIONED = "conditioned generation"
RECOLOUR = "ask a cat's colour, then recolour a dog"
WEBCAM = "webcam image, then style transfer"
DISH = "recipe search, then dish image"
VARIATIONS = 5  #: tasks of each case
VQA, DRAW = "visual_question_answering", "text_to_image_generation"
PAINT, EDIT, RESTYLE = "conditioned_image_generation", "image_editing", "image_style_transfer"
#: The functions of every task; the captions and the calculator are never needed.
OFFERED = (SEARCH, "calculator", TAKE_PICTURE, VQA, "image_captioning", DRAW, PAINT, EDIT, RESTYLE)
#: Recipes of the library, and their dishes.
DISHES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "Harbour Supper": ("fish", "cup"),
        "Orchard Bowl": ("apple", "banana"),
        "Skipper's Breakfast": ("fish", "apple"),
        "Meadow Tea": ("cup", "flower"),
        "Captain's Salad": ("fish", "apple"),
    }
)
#: The phrase in a question that requests a style, and the word that names the style.
_STYLES = {
    "in sepia": "sepia",
    "as a sketch": "sketch",
    "as a negative": "negative",
    "as a poster": "poster",
    "as pixel art": "pixel art",
}
_OUTLINED = ("house", "boat", "car", "cat", "dog")
_PAINTS = ("red", "orange", "violet", "pink", "black")  #: colours that stand out in every place
_SHORT, _LONG = 38, 46  #: pixels of a thing
Step = dict[str, Any]


@dataclass(slots=True)
class _Pictures:
    """The pictures of a task, as channels, and their bytes by sha256."""

    random: Random
    artifacts: dict[str, bytes]
    channels: list[dict[str, Any]] = field(default_factory=list)

    def add(self, name: str, thing: str, colour: str) -> str:
        """Add a picture of a thing, and return its sha256."""
        size = self.random.randint(_SHORT, _LONG)
        left, top = self.random.randint(2, SIZE - size - 2), self.random.randint(2, SIZE - size - 2)
        spot = Spot(thing, left, top, size, COLOURS[colour])
        scene = Scene(self.random.choice(tuple(PLACES)), (spot,), (), self.random.getrandbits(32))
        data = write_png(draw_scene(scene))
        digest = hashlib.sha256(data).hexdigest()
        self.artifacts[digest] = data
        self.channels.append({"name": name, "kind": "image", "values": [digest]})
        return digest


Made = tuple[str, list[Step]]  #: the question, and the gold calls
_SIZE_TEXT = f"{SIZE}x{SIZE}"


def _paint(number: int, pictures: _Pictures) -> Made:
    random, thing = pictures.random, _OUTLINED[number]
    before, colour = random.sample(_PAINTS, 2)
    location = random.choice(tuple(PLACES.values()))
    digest = pictures.add("image", thing, before)
    description = f"{article(colour)} {colour} {thing} {location.phrase.en}"
    question = f"Along the outlines of {write_image(digest, _SIZE_TEXT)}, make a picture of {description}."
    return question, [_step(PAINT, {"image": digest}, text=[[colour], _forms(thing), [location.name]])]


def _recolour(number: int, pictures: _Pictures) -> Made:
    dog_colour, cat_colour = pictures.random.sample(_PAINTS, 2)
    cat, dog = pictures.add("cat", "cat", cat_colour), pictures.add("dog", "dog", dog_colour)
    question = (
        f"What colour is the cat in {write_image(cat, _SIZE_TEXT)}? "
        f"Give the dog in {write_image(dog, _SIZE_TEXT)} the same."
    )
    other_colours = sorted(word for word, name in COLOUR_WORDS.items() if name not in (cat_colour, dog_colour))
    ask = _step(VQA, {"image": cat}, question=[["cat"], ["colour", "color"]])
    edit = _step(EDIT, {"image": dog}, instruction=[["dog"], [cat_colour]]) | {
        "without": {"instruction": other_colours}
    }
    return question, [ask, edit]


def _restyle(number: int, pictures: _Pictures) -> Made:
    style_phrase, style = tuple(_STYLES.items())[number]
    digest = pictures.add(CAMERA, pictures.random.choice(_OUTLINED), pictures.random.choice(_PAINTS))
    question = f"Take a picture with my webcam and show it to me {style_phrase}."
    return question, [_step(TAKE_PICTURE, {}), _step(RESTYLE, {"image": digest}, text=[[style]])]


def _dish(number: int, pictures: _Pictures) -> Made:
    title, things = tuple(DISHES.items())[number]
    question = f"Find the recipe of {title}, and draw what it brings to the table."
    return question, [
        _step(SEARCH, {}) | {"returns": title},
        _step(DRAW, {}, text=[_forms(thing) for thing in things]),
    ]


CASES: Mapping[str, Callable[[int, _Pictures], Made]] = MappingProxyType(
    {CONDITIONED: _paint, RECOLOUR: _recolour, WEBCAM: _restyle, DISH: _dish}
)


def make_case(case: str, number: int, artifacts: dict[str, bytes]) -> Task:
    """Return a task of a case, and add its pictures to `artifacts` by sha256. `number`: from 0 to VARIATIONS - 1."""
    pictures = _Pictures(Random(f"{NAME} {case} {number}"), artifacts)
    question, steps = CASES[case](number, pictures)
    row = f"{case.split(',')[0].replace(' ', '-').replace(chr(39), '')}-{number + 1}"
    inputs = {"functions": local_functions(*OFFERED), CHANNELS: pictures.channels}
    plan = "; ".join(step["function"] for step in steps)
    return Task(NAME, "", row, question, inputs, {"case": case, "plan": plan, "steps": steps})


def _step(function: str, images: Mapping[str, str], **words: list[list[str]]) -> Step:
    """Return a gold call. `images`: name of an argument to the sha256 of the picture that it must have. `words`: name
    of a text argument to lists of words; the text must have a word of each list."""
    return {"function": function, "images": dict(images), "words": words}


def _forms(thing: str) -> list[str]:
    noun = KINDS[thing].noun
    return list(dict.fromkeys((noun.en, noun.en_plural)))
