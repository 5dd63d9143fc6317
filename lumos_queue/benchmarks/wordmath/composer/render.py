"""Writes clauses and a question as text: it orders and joins sentences, and adds pronouns and 'If …'."""

from __future__ import annotations

import random
import re

from lumos_queue.benchmarks.wordmath.composer.story import Clause, Story
from lumos_queue.benchmarks.wordmath.scene import Person

JOINED = 0.25  #: probability that two neighbouring clauses of the same time become a sentence
MERGED = 0.14  #: probability that the last clause becomes the question's 'If …'
PRONOUNS = 0.55  #: probability that a name at the start of a sentence becomes a pronoun, if it is unambiguous

_START = re.compile(r"^[^0-9$]+ (?=[0-9$])")  # a clause up to its first number
#: Words that lead from a sentence to the next, and cannot start a story.
_LEADS = re.compile(r"^(?:then|later|soon,|after a while,|after that,|the next day,|at the next stop,|now) ")
_MORE_THAN_ONE = re.compile(r"[,;]| and | while | but ")


def arrange(story: Story, clauses: list[Clause], target: int) -> list[Clause]:
    """Return the clauses in the order of the story, with hints for quantities without a stated number."""
    stated_quantities = {state for clause in clauses for state in clause.states}
    near = stated_quantities | {target}
    body = list(clauses)
    for quantity, hint in story.hints.items():
        if quantity in stated_quantities or (hint.with_one_of and not near.intersection(hint.with_one_of)):
            continue
        if any(quantity in law.members and near.intersection(law.members) for law in story.graph.laws):
            body.append(Clause((quantity,), hint.text, hint.moment, plain=False))
    return sorted(body, key=lambda clause: (clause.moment, story.rng.random()))


def write(story: Story, body: list[Clause], target: int, rng: random.Random) -> str:
    """Return the text of the problem. `rng` makes the choices that differ between problems of the same story."""
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
    index = 0
    while index < len(sentences):
        clause, text = sentences[index]
        if index + 1 < len(sentences) and rng.random() < JOINED:
            next_clause, next_text = sentences[index + 1]
            fit = clause.plain and next_clause.plain and clause.moment == next_clause.moment
            if fit and not _MORE_THAN_ONE.search(text + next_text):
                text += _link(text, next_text, rng)
                index += 1
        texts.append(text)
        index += 1
    return texts


def _link(text: str, next_text: str, rng: random.Random) -> str:
    """Return `next_text` with a conjunction, to follow `text`. Words before the number that both have are left out."""
    start = _START.match(text)
    if start and next_text.startswith(start[0]) and _START.match(next_text):
        return f" and {next_text.removeprefix(start[0])}"
    if text.split(" ")[0] == next_text.split(" ")[0]:
        return f", and {next_text}"
    return rng.choice((" and ", ", and ", ", while ", ", but ")) + next_text


def _use_pronouns(texts: list[str], cast: list[Person], rng: random.Random) -> list[str]:
    """Return the sentences with names at their starts replaced by 'he' or 'she' at random.

    The previous sentence must start with the same name, and neither sentence may name another person with the pronoun.
    """
    output = list(texts)
    for index in range(1, len(texts)):
        for person in cast:
            name = f"{person.name} "
            if not (texts[index].startswith(name) and texts[index - 1].startswith(name)):
                continue
            has_rival = any(
                rival is not person
                and rival.he == person.he
                and re.search(rf"\b{rival.name}\b", texts[index - 1] + texts[index])
                for rival in cast
            )
            if not has_rival and rng.random() < PRONOUNS:
                output[index] = f"{person.he} {texts[index].removeprefix(name)}"
    return output


def _capital(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]
