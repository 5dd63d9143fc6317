"""Make samples with a picture: a thing and its class, things and a caption or their names, boards and a question."""

from __future__ import annotations

from collections import Counter
from random import Random

from lumos_queue.benchmarks.openagi.data.drawing import SIZE, Board, Scene, Spot, board_size
from lumos_queue.benchmarks.openagi.data.nouns import Phrase, count_noun
from lumos_queue.benchmarks.openagi.data.seeds import split_of
from lumos_queue.benchmarks.openagi.data.things import PLACES, THINGS

_NAMES, _PLACES = tuple(THINGS), tuple(PLACES)
_CELLS = tuple((1 + 21 * column, top) for top in (8, 38) for column in range(3))  #: positions of several things
_SMALL = 19  #: size of each of several things, in pixels
_YELLOW, _WHITE = (250, 220, 90), (242, 242, 242)
#: The words of boards.
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
#: Questions about boards, by their subject. The second of each names it twice: the text around a mask shows the word.
QUESTIONS = {
    "word": ("what word is written on the sign ?", "which word can be read in letters on the sign ?"),
    "number": ("what number is written on the sign ?", "which number can be read in digits on the sign ?"),
    "thing": ("what thing is seen beside the sign ?", "which object stands next to the sign in the picture ?"),
}


def draw_label(random: Random) -> tuple[Scene, str]:
    """Sample a picture of a large thing, and its name."""
    name, size = random.choice(_NAMES), random.randint(36, 48)
    spot = Spot(name, random.randint(2, SIZE - size - 2), random.randint(2, SIZE - size - 2), size)
    return Scene(random.choice(_PLACES), (spot,), (), random.getrandbits(32)), name


def split_label(sample: tuple[Scene, str]) -> str:
    """Return the split that a kind of thing in a place belongs to: three of five places are in train for each kind.

    One place is in dev, and one in test. The assignment is not random, so that no split lacks a kind.
    """
    scene, name = sample
    return ("test", "dev", "train", "train", "train")[(_NAMES.index(name) + _PLACES.index(scene.place)) % 5]


def draw_caption(random: Random) -> tuple[Scene, Phrase]:
    """Sample a picture of one or two kinds of things, up to three of each, and its caption."""
    kinds = random.sample(_NAMES, random.choice((1, 2, 2)))
    counts = {kind: random.choice((1, 1, 2, 3)) for kind in kinds}
    things = [kind for kind, count in counts.items() for _ in range(count)]
    scene = Scene(random.choice(_PLACES), _spread(things, random), (), random.getrandbits(32))
    phrases = [count_noun(THINGS[kind].noun, THINGS[kind].adjective, count) for kind, count in counts.items()]
    place_phrase = PLACES[scene.place].phrase
    english, german = " and ".join(phrase.en for phrase in phrases), " und ".join(phrase.de for phrase in phrases)
    return scene, Phrase(f"{english} {place_phrase.en}", f"{german} {place_phrase.de}")


def draw_objects(random: Random) -> tuple[Scene, Phrase]:
    """Sample a picture of two to five things, and their names from left to right. Names can repeat."""
    kinds = random.sample(_NAMES, random.randint(2, 3))
    things = [*kinds, *random.choices(kinds, k=random.randint(0, 2))]
    scene = Scene(random.choice(_PLACES), _spread(things, random), (), random.getrandbits(32))
    nouns = [THINGS[spot.thing].noun for spot in sorted(scene.spots, key=lambda spot: (spot.left, spot.top))]
    return scene, Phrase(", ".join(noun.en for noun in nouns), ", ".join(noun.de for noun in nouns))


def split_objects(sample: tuple[Scene, Phrase]) -> str:
    """Return the split of a picture by its place and the number of things of each kind; positions do not count."""
    scene = sample[0]
    return split_of("things", sorted(Counter(spot.thing for spot in scene.spots).items()), scene.place)


def draw_signs(random: Random) -> tuple[Scene, str, Phrase]:
    """Sample a picture of a board with a word, a board with a number, and a thing; a question and its answer."""
    word, number, name = random.choice(WORDS), str(random.randint(10, 99)), random.choice(_NAMES)
    sign_text = word.en.upper()
    width = board_size(sign_text)[0]
    boards = [Board(sign_text, random.randint(1, SIZE - width - 1), random.randint(2, 14), _YELLOW)]
    sides = [2, SIZE - 26]
    random.shuffle(sides)
    boards.append(Board(number, sides[0] + random.randint(0, 4), random.randint(36, 46), _WHITE))
    spot = Spot(name, sides[1] + random.randint(0, 2), random.randint(34, 40), 22)
    scene = Scene(random.choice(_PLACES), (spot,), tuple(boards), random.getrandbits(32))
    about = random.choice(tuple(QUESTIONS))
    noun = THINGS[name].noun
    answers = {"word": word, "number": Phrase(number, number), "thing": Phrase(noun.en, noun.de)}
    return scene, random.choice(QUESTIONS[about]), answers[about]


def split_signs(sample: tuple[Scene, str, Phrase]) -> str:
    """Return the split of a picture of boards by its word, its number and its thing."""
    scene = sample[0]
    return split_of("signs", [board.text for board in scene.boards], scene.spots[0].thing)


def _spread(things: list[str], random: Random) -> tuple[Spot, ...]:
    """Return a spot for each thing, each in another cell of the picture."""
    cells = random.sample(_CELLS, len(things))
    return tuple(
        Spot(thing, left + random.randint(0, 2), top + random.randint(-5, 5), _SMALL)
        for thing, (left, top) in zip(things, cells, strict=True)
    )
