"""Samples of texts: reports with a summary, opinions with their sentiment, lives with a question."""

from __future__ import annotations

from random import Random

from lumos_queue.benchmarks.openagi.data.nouns import PRONOUNS, BilingualNoun, Phrase, article, capitalize, object_noun
from lumos_queue.benchmarks.openagi.data.seeds import split_of
from lumos_queue.benchmarks.openagi.data.words import (
    BAD,
    BUILDINGS,
    CITIES,
    DAYS,
    EVENTS,
    GOOD,
    INSTRUMENTS,
    JOBS,
    LOOKS,
    PARTS,
    PEOPLE,
    SURNAMES,
    VERBS,
)

POSITIVE, NEGATIVE = Phrase("positive", "positiv"), Phrase("negative", "negativ")


def draw_report(random: Random) -> tuple[object, str, Phrase]:
    """What it combines, a report of five to seven sentences, and the two that matter as a summary."""
    (event, event_de), verb = random.choice(EVENTS), random.choice(VERBS)
    building, look = random.choice(BUILDINGS), random.choice(LOOKS)
    city, other = random.sample(CITIES, 2)
    day, until = random.sample(DAYS, 2)
    hit = object_noun(building, look)
    lead = f"{capitalize(article(event))} {event} {verb.en} {hit.en} in {city.en} on {day.en} ."
    closed = f"{capitalize(hit.en)} will stay closed until {until.en} ."
    details = _details(random, building, city, other)
    opening = [] if random.random() < 0.7 else [f"People in {city.en} still talk about last {day.en} ."]
    document = " ".join([*opening, lead, *details, closed])
    summary = Phrase(
        f"{capitalize(article(event))} {event} {verb.en} {hit.en} in {city.en} . "
        f"It will stay closed until {until.en} .",
        f"{capitalize(event_de)} {verb.de} {hit.de} in {city.de} . "
        f"{capitalize(PRONOUNS[building.gender])} bleibt bis {until.de} geschlossen .",
    )
    return (event, verb.en, building.en, look.en, city.en), document, summary


def _details(random: Random, building: BilingualNoun, city: Phrase, other: Phrase) -> list[str]:
    """Three or four sentences that a summary leaves out."""
    person, job = f"{random.choice(PEOPLE)} {random.choice(SURNAMES)}", random.choice(JOBS).en
    begun = random.choice(("morning", "afternoon", "evening"))
    said = (
        f"{person} , {article(job)} {job} , said that nobody had expected it .",
        f"It began in the {begun} and lasted {random.randint(2, 9)} hours .",
        f"About {random.randint(2, 9) * 10} people had to leave the {building.en} .",
        f"Something like this was last seen in {other.en} {random.randint(2, 9)} years ago .",
        f"The mayor of {city.en} thanked all who helped .",
    )
    return random.sample(said, random.randint(3, 4))


def split_report(drawn: tuple[object, str, Phrase]) -> str:
    """By what happened to which building of which city."""
    return split_of("documents", drawn[0])


def draw_opinion(random: Random) -> tuple[object, str, Phrase]:
    """What it combines, a sentence about a film, and its sentiment: of two opinions, the one after 'but'."""
    good = random.random() < 0.5
    words, others = (GOOD, BAD) if good else (BAD, GOOD)
    first, second = random.sample(words, 2)
    other, (one_part, other_part) = random.choice(others), random.sample(PARTS, 2)
    forms = (
        f"the {one_part} is {first} and {second} .",
        f"{article(first)} {first} film with {article(second)} {second} {one_part} .",
        f"the {other_part} is {other} , but the {one_part} is {first} and the film is {second} .",
        f"what {article(first)} {first} {one_part} , and how {second} the {other_part} is !",
    )
    form = random.randrange(len(forms))
    return (form, first, second, one_part), forms[form], POSITIVE if good else NEGATIVE


def split_opinion(drawn: tuple[object, str, Phrase]) -> str:
    """By a form of sentence with two opinions of a part of the film."""
    return split_of("sentiments", drawn[0])


def draw_life(random: Random) -> tuple[object, str, str, Phrase]:
    """What it combines, what is known of a person, a question, and its answer, which the text holds once."""
    first, last = random.choice(PEOPLE), random.choice(SURNAMES)
    born, works = random.sample(CITIES, 2)
    job, instrument, year = random.choice(JOBS), random.choice(INSTRUMENTS), str(random.randint(1940, 1999))
    facts = [
        f"{first} {last} was born in {born.en} in the year {year} .",
        f"{first} works as {article(job.en)} {job.en} .",
        f"The home of {first} is now the city of {works.en} .",
        f"In the evening {first} plays music on the {instrument.en} .",
    ]
    tail = facts[1:]
    random.shuffle(tail)
    asked = {
        f"in what city was {first} born ?": born,
        f"in what year was {first} born ?": Phrase(year, year),
        f"what job does {first} work in ?": job,
        f"in what city is the home of {first} now ?": works,
        f"what instrument does {first} play music on ?": instrument,
    }
    question = random.choice(tuple(asked))
    return (first, last), " ".join([facts[0], *tail]), question, asked[question]


def split_life(drawn: tuple[object, str, str, Phrase]) -> str:
    """By a person's name."""
    return split_of("passages", drawn[0])
