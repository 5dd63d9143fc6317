"""From clauses and a question to text: their order, joined sentences, pronouns, 'If …'."""

from __future__ import annotations

import random
import re

from lumos_queue.benchmarks.wordmath.composer.story import Clause, Story
from lumos_queue.benchmarks.wordmath.scene import Person

JOINED = 0.25  #: how often two neighbouring clauses of one time become one sentence
MERGED = 0.14  #: how often the last clause becomes the question's 'If …'
PRONOUNS = 0.55  #: how often a name at the start of a sentence becomes a pronoun where only one person can be meant

_START = re.compile(r"^[^0-9$]+ (?=[0-9$])")  # a clause up to its first number
#: What leads from one sentence to the next, and cannot start a story.
_LEADS = re.compile(r"^(?:then|later|soon,|after a while,|after that,|the next day,|at the next stop,|now) ")
_MORE_THAN_ONE = re.compile(r"[,;]| and | while | but ")


def arrange(story: Story, told: list[Clause], target: int) -> list[Clause]:
    """The clauses in the order of the story, with what must be said of quantities whose number is not told."""
    known = {state for clause in told for state in clause.states}
    near = known | {target}
    body = list(told)
    for quantity, hint in story.hints.items():
        if quantity in known or (hint.with_one_of and not near.intersection(hint.with_one_of)):
            continue
        if any(quantity in law.members and near.intersection(law.members) for law in story.graph.laws):
            body.append(Clause((quantity,), hint.text, hint.at, plain=False))
    return sorted(body, key=lambda clause: (clause.at, story.rng.random()))


def write(story: Story, body: list[Clause], target: int, rng: random.Random) -> str:
    """The text of the problem. `rng` decides what differs between problems that share a story."""
    say = story.scene.say
    sentences = [(clause, say(clause.text)) for clause in body]
    question = say(rng.choice(story.asks[target]))
    if sentences and sentences[-1][0].plain and rng.random() < MERGED:
        last = sentences.pop()[1]
        if rng.random() < 0.7 or _MORE_THAN_ONE.search(last):
            question = f"if {last}, {question}"
        else:
            question = f"{question} if {last}"
    if sentences:
        sentences[0] = (sentences[0][0], _LEADS.sub("", sentences[0][1]))
    texts = _use_pronouns(_join(sentences, story.rng), story.scene.cast, story.rng)
    return " ".join(_capital(text) for text in [*(f"{text}." for text in texts), f"{question}?"])


def _join(sentences: list[tuple[Clause, str]], rng: random.Random) -> list[str]:
    texts: list[str] = []
    place = 0
    while place < len(sentences):
        clause, text = sentences[place]
        if place + 1 < len(sentences) and rng.random() < JOINED:
            other, following = sentences[place + 1]
            fit = clause.plain and other.plain and clause.at == other.at
            if fit and not _MORE_THAN_ONE.search(text + following):
                text += _link(text, following, rng)
                place += 1
        texts.append(text)
        place += 1
    return texts


def _link(text: str, following: str, rng: random.Random) -> str:
    """The second of two clauses as it reads after the first: without the words before its number if they are equal."""
    start = _START.match(text)
    if start and following.startswith(start[0]) and _START.match(following):
        return f" and {following.removeprefix(start[0])}"
    if text.split(" ")[0] == following.split(" ")[0]:
        return f", and {following}"
    return rng.choice((" and ", ", and ", ", while ", ", but ")) + following


def _use_pronouns(texts: list[str], cast: list[Person], rng: random.Random) -> list[str]:
    """Put 'he' or 'she' for a name that starts a sentence, when it started the one before and nobody else is there."""
    written = list(texts)
    for place in range(1, len(texts)):
        for person in cast:
            name = f"{person.name} "
            if not (texts[place].startswith(name) and texts[place - 1].startswith(name)):
                continue
            others = any(
                other is not person
                and other.he == person.he
                and re.search(rf"\b{other.name}\b", texts[place - 1] + texts[place])
                for other in cast
            )
            if not others and rng.random() < PRONOUNS:
                written[place] = f"{person.he} {texts[place].removeprefix(name)}"
    return written


def _capital(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]
