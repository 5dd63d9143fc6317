"""Samples with a picture: one thing and its class, a few and a caption, many and their names, boards and a question."""

from __future__ import annotations

from collections import Counter
from random import Random

from lumos_queue.benchmarks.openagi.data.drawing import SIZE, Board, Scene, Spot, board_size
from lumos_queue.benchmarks.openagi.data.nouns import Phrase, count_noun
from lumos_queue.benchmarks.openagi.data.seeds import split_of
from lumos_queue.benchmarks.openagi.data.things import PLACES, THINGS

_NAMES, _PLACES = tuple(THINGS), tuple(PLACES)
_CELLS = tuple((1 + 21 * column, top) for top in (8, 38) for column in range(3))  #: where one of several things may be
_SMALL = 19  #: pixels of one of several things
_YELLOW, _WHITE = (250, 220, 90), (242, 242, 242)
#: What boards say, and its German.
WORDS = (
    Phrase("bread", "Brot"),
    Phrase("milk", "Milch"),
    Phrase("tea", "Tee"),
    Phrase("books", "Bücher"),
    Phrase("hotel", "Hotel"),
    Phrase("bank", "Bank"),
    Phrase("post", "Post"),
    Phrase("zoo", "Zoo"),
    Phrase("school", "Schule"),
    Phrase("market", "Markt"),
    Phrase("music", "Musik"),
    Phrase("open", "geöffnet"),
    Phrase("closed", "geschlossen"),
    Phrase("exit", "Ausgang"),
    Phrase("taxi", "Taxi"),
    Phrase("pizza", "Pizza"),
    Phrase("toys", "Spielzeug"),
    Phrase("shoes", "Schuhe"),
    Phrase("stop", "Halt"),
    Phrase("water", "Wasser"),
)
#: Questions about boards, by what answers them. Some say it twice, so that a masked word can be told from the others.
QUESTIONS = {
    "word": ("what word is written on the sign ?", "which word can be read in letters on the sign ?"),
    "number": ("what number is written on the sign ?", "which number can be read in digits on the sign ?"),
    "thing": ("what thing is seen beside the sign ?", "which object stands next to the sign in the picture ?"),
}


def draw_label(random: Random) -> tuple[Scene, str]:
    """A large thing, and its name."""
    name, size = random.choice(_NAMES), random.randint(36, 48)
    spot = Spot(name, random.randint(2, SIZE - size - 2), random.randint(2, SIZE - size - 2), size)
    return Scene(random.choice(_PLACES), (spot,), (), random.getrandbits(32)), name


def split_label(drawn: tuple[Scene, str]) -> str:
    """By a kind of thing in a place: of its five places each kind has one for test, one for dev and three for train.

    By rule, as chance would leave kinds out of so few.
    """
    scene, name = drawn
    return ("test", "dev", "train", "train", "train")[(_NAMES.index(name) + _PLACES.index(scene.place)) % 5]


def draw_caption(random: Random) -> tuple[Scene, Phrase]:
    """One or two kinds of things, up to three of each, and what a person would say of them."""
    kinds = random.sample(_NAMES, random.choice((1, 2, 2)))
    counted = {kind: random.choice((1, 1, 2, 3)) for kind in kinds}
    things = [kind for kind, count in counted.items() for _ in range(count)]
    scene = Scene(random.choice(_PLACES), _spread(things, random), (), random.getrandbits(32))
    named = [count_noun(THINGS[kind].noun, THINGS[kind].adjective, count) for kind, count in counted.items()]
    place = PLACES[scene.place].phrase
    english, german = " and ".join(one.en for one in named), " und ".join(one.de for one in named)
    return scene, Phrase(f"{english} {place.en}", f"{german} {place.de}")


def draw_objects(random: Random) -> tuple[Scene, Phrase]:
    """Two to five things, and their names from left to right, each as often as it is there."""
    kinds = random.sample(_NAMES, random.randint(2, 3))
    things = [*kinds, *random.choices(kinds, k=random.randint(0, 2))]
    scene = Scene(random.choice(_PLACES), _spread(things, random), (), random.getrandbits(32))
    nouns = [THINGS[one.thing].noun for one in sorted(scene.spots, key=lambda one: (one.left, one.top))]
    return scene, Phrase(", ".join(one.en for one in nouns), ", ".join(one.de for one in nouns))


def split_objects(drawn: tuple[Scene, Phrase]) -> str:
    """By kinds of things with their numbers, in whatever order, in a place."""
    scene = drawn[0]
    return split_of("things", sorted(Counter(one.thing for one in scene.spots).items()), scene.place)


def draw_signs(random: Random) -> tuple[Scene, str, Phrase]:
    """A board with a word, one with a number and a thing; a question about one of them, and its answer."""
    word, number, name = random.choice(WORDS), str(random.randint(10, 99)), random.choice(_NAMES)
    written = word.en.upper()
    width = board_size(written)[0]
    boards = [Board(written, random.randint(1, SIZE - width - 1), random.randint(2, 14), _YELLOW)]
    sides = [2, SIZE - 26]
    random.shuffle(sides)
    boards.append(Board(number, sides[0] + random.randint(0, 4), random.randint(36, 46), _WHITE))
    spot = Spot(name, sides[1] + random.randint(0, 2), random.randint(34, 40), 22)
    scene = Scene(random.choice(_PLACES), (spot,), tuple(boards), random.getrandbits(32))
    about = random.choice(tuple(QUESTIONS))
    noun = THINGS[name].noun
    answers = {"word": word, "number": Phrase(number, number), "thing": Phrase(noun.en, noun.de)}
    return scene, random.choice(QUESTIONS[about]), answers[about]


def split_signs(drawn: tuple[Scene, str, Phrase]) -> str:
    """By a word with a number and a thing."""
    scene = drawn[0]
    return split_of("signs", [one.text for one in scene.boards], scene.spots[0].thing)


def _spread(things: list[str], random: Random) -> tuple[Spot, ...]:
    """Each in a cell of its own."""
    cells = random.sample(_CELLS, len(things))
    return tuple(
        Spot(thing, left + random.randint(0, 2), top + random.randint(-5, 5), _SMALL)
        for thing, (left, top) in zip(things, cells, strict=True)
    )
