"""Irrelevant sentences, with or without a number that the solution does not need."""

from __future__ import annotations

import re

from lumos_queue.benchmarks.wordmath import words
from lumos_queue.benchmarks.wordmath.scene import Person, Scene

#: (topic, sentence, smallest number, largest number). `{p}` is the first person of the story, `{other}` another thing.
ABOUT_A_PERSON = (
    ("age", "{p} is {n} years old.", 8, 60),
    ("people", "{p} has {n} cousins.", 2, 15),
    ("people", "{p}'s team has {n} members.", 5, 25),
    ("things", "{p} also has {n} {other} at home.", 2, 60),
    ("things", "{p} keeps {n} {other} in a drawer.", 2, 60),
    ("time", "{p} got up at {n} o'clock that day.", 5, 10),
    ("time", "{p} had slept for {n} hours.", 6, 10),
    ("time", "{p} has lived in this town for {n} years.", 2, 30),
    ("distance", "{p} lives {n} [miles|kilometers|blocks] from the [library|station|park|school].", 2, 20),
    ("height", "{p} is {n} centimeters tall.", 120, 195),
    ("pages", "{p} is also reading a book of {n} pages.", 60, 500),
    ("number", "{p} lives at number {n} on [Oak|Hill|River|Garden|Station] Street.", 2, 150),
    ("number", "{p} takes bus number {n} to get there.", 2, 90),
)
ABOUT_THE_WORLD = (
    ("weather", "It was {n} degrees outside.", 5, 38),
    ("price", "A cup of tea costs {n} dollars there.", 2, 9),
    ("distance", "The nearest [park|bus stop|station|bakery] is {n} [blocks|miles|kilometers] away.", 2, 20),
    ("people", "About {n} people live in the same street.", 20, 300),
    ("time", "The sun set at {n} o'clock that evening.", 5, 9),
    ("number", "It was the year {n}.", 1995, 2024),
    ("houses", "There are {n} houses nearby.", 5, 90),
)
PLAIN_PERSON = (
    "{p} likes {other}.",
    "{p} was in a good mood.",
    "{p}'s favorite color is {color}.",
    "{p} had breakfast early that day.",
    "{p} lives near a river.",
    "{p} enjoys music.",
    "{p} wore a {color} jacket.",
    "{p} is good at {subject}.",
)
PLAIN_WORLD = (
    "It was a sunny day.",
    "It was raining outside.",
    "The weather was fine.",
    "It was a quiet [morning|afternoon].",
    "It was {day}.",
)

#: A sentence that starts with one of these refers to the sentence before it.
LEANING = (
    "They",
    "It",
    "Its",
    "Each",
    "Every",
    "The rest",
    "All the",
    "Of",
    "That",
    "This",
    "Then",
    "Among",
    "Exactly",
    "Now",
    "After",
    "So far",
    "The result",
    "Half",
    "A third",
    "A quarter",
    "A fifth",
    "Two thirds",
    "Later",
    "Some more",
    "Today",
)

#: A sentence with one of these words refers to the sentence before it.
_POINTING = re.compile(r"\b(?:they|them|it|its|this|that|these|those|everything|then)\b", re.IGNORECASE)


def _sentence(s: Scene, person: Person | None, topics: frozenset[str]) -> str:
    other_things = s.thing("toy", "school").many
    if s.chance(0.25):
        text = s.pick(*(PLAIN_PERSON if person else PLAIN_WORLD))
        number = 0
    else:
        pool = (*ABOUT_A_PERSON, *ABOUT_THE_WORLD) if person else ABOUT_THE_WORLD
        _, text, low, high = s.pick(*(item for item in pool if item[0] not in topics))
        number = s.n(low, high)
        s.require(not any(str(number) in sentence.replace(",", " ").split() for sentence in s.body))
    color, subject, day = s.pick("red", "blue", "green", "yellow"), s.pick(*words.SUBJECTS), s.pick(*words.DAYS)
    return s.say(text.format(p=person, n=number, other=other_things, color=color, subject=subject, day=day))


def _leans(sentence: str) -> bool:
    return sentence.capitalize().startswith(LEANING) or _POINTING.search(sentence) is not None


def distract(s: Scene, topics: frozenset[str]) -> None:
    """Insert an irrelevant sentence into the story, but not between sentences that belong together."""
    person = s.cast[0] if s.cast and s.cast[0].name in s.body[0] else None
    sentence = _sentence(s, person, topics)
    positions = [0] + [index for index in range(1, len(s.body)) if not _leans(s.body[index])]
    if not _POINTING.search(s.question):
        positions.append(len(s.body))
    s.body.insert(s.rng.choice(positions), sentence)
