"""Make samples of texts: reports with a summary, opinions with a sentiment, and lives of persons with a question."""

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


def sample_report(random: Random) -> tuple[object, str, Phrase]:
    """Sample a combination for `split_report`, a report of five to seven sentences, and a summary of two sentences."""
    (event, event_de), verb = random.choice(EVENTS), random.choice(VERBS)
    building, look = random.choice(BUILDINGS), random.choice(LOOKS)
    city, other_city = random.sample(CITIES, 2)
    day, until = random.sample(DAYS, 2)
    hit = object_noun(building, look)
    lead = f"{capitalize(article(event))} {event} {verb.en} {hit.en} in {city.en} on {day.en} ."
    closing_sentence = f"{capitalize(hit.en)} will stay closed until {until.en} ."
    details = _details(random, building, city, other_city)
    opening_sentences = [] if random.random() < 0.7 else [f"People in {city.en} still talk about last {day.en} ."]
    document = " ".join([*opening_sentences, lead, *details, closing_sentence])
    summary = Phrase(
        f"{capitalize(article(event))} {event} {verb.en} {hit.en} in {city.en} . "
        f"It will stay closed until {until.en} .",
        f"{capitalize(event_de)} {verb.de} {hit.de} in {city.de} . "
        f"{capitalize(PRONOUNS[building.gender])} bleibt bis {until.de} geschlossen .",
    )
    return (event, verb.en, building.en, look.en, city.en), document, summary


def _details(random: Random, building: BilingualNoun, city: Phrase, other_city: Phrase) -> list[str]:
    """Sample three or four sentences that are not in a summary."""
    person, job = f"{random.choice(PEOPLE)} {random.choice(SURNAMES)}", random.choice(JOBS).en
    time_of_day = random.choice(("morning", "afternoon", "evening"))
    sentences = (
        f"{person} , {article(job)} {job} , said that nobody had expected it .",
        f"It began in the {time_of_day} and lasted {random.randint(2, 9)} hours .",
        f"About {random.randint(2, 9) * 10} people had to leave the {building.en} .",
        f"Something like this was last seen in {other_city.en} {random.randint(2, 9)} years ago .",
        f"The mayor of {city.en} thanked all who helped .",
    )
    return random.sample(sentences, random.randint(3, 4))


def split_report(sample: tuple[object, str, Phrase]) -> str:
    """Return the split of a report by its combination: event, verb, building, the building's adjective, and city."""
    return split_of("documents", sample[0])


def sample_opinion(random: Random) -> tuple[object, str, Phrase]:
    """Sample a combination for `split_opinion`, a sentence about a film, and the sentiment of its last clause."""
    good = random.random() < 0.5
    words, opposite_words = (GOOD, BAD) if good else (BAD, GOOD)
    first, second = random.sample(words, 2)
    opposite_word, (one_part, other_part) = random.choice(opposite_words), random.sample(PARTS, 2)
    forms = (
        f"the {one_part} is {first} and {second} .",
        f"{article(first)} {first} film with {article(second)} {second} {one_part} .",
        f"the {other_part} is {opposite_word} , but the {one_part} is {first} and the film is {second} .",
        f"what {article(first)} {first} {one_part} , and how {second} the {other_part} is !",
    )
    form = random.randrange(len(forms))
    return (form, first, second, one_part), forms[form], POSITIVE if good else NEGATIVE


def split_opinion(sample: tuple[object, str, Phrase]) -> str:
    """Return the split of an opinion by its combination: the sentence's form, two adjectives and a part of the film."""
    return split_of("sentiments", sample[0])


def sample_life(random: Random) -> tuple[object, str, str, Phrase]:
    """Sample a person's name, a text about the person, a question, and its answer, which is in the text once."""
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
    answers = {
        f"in what city was {first} born ?": born,
        f"in what year was {first} born ?": Phrase(year, year),
        f"what job does {first} work in ?": job,
        f"in what city is the home of {first} now ?": works,
        f"what instrument does {first} play music on ?": instrument,
    }
    question = random.choice(tuple(answers))
    return (first, last), " ".join([facts[0], *tail]), question, answers[question]


def split_life(sample: tuple[object, str, str, Phrase]) -> str:
    """Return the split of a text about a person, by the person's name."""
    return split_of("passages", sample[0])
