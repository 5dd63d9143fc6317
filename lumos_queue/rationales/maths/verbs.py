"""Recognizes the verb before a number in a line of a solution, so that the number can be asked for."""

from __future__ import annotations

from collections.abc import Sequence

from lumos_queue.rationales.maths.english import BEING, DETERMINERS, PREPOSITIONS, VERBS
from lumos_queue.rationales.word_set import word_set

MODALS = word_set("will would can could may might must should to did does do didn't doesn't cannot can't")
_NO_PARTICIPLES = word_set("red bed shed seed hundred need feed weed bred sled reed")
#: Verbs whose passive has an object: `he was charged $5`.
_TWO_OBJECTS = word_set("charged paid given awarded offered owed left sent allowed allotted")
#: Verbs that the words of english.VERBS lack, in forms that end neither in `ed` nor, after a singular noun, in `s`.
_FORMS = word_set(
    """take save sell receive contain weigh cover collect lose hold accommodate produce catch climb jump grow grew held
    sent bore kept broke hit rode taught swam raced went became become totals represent require average write gave
    brought drive run buy make need have has had paint bake wash fit lay fly fill carry complete deliver donate
    plant pick score remain serve use finish yield fold burn add order contribute invite visit attend sew knit swim
    see leave left lift press perform chop trade share consume equal equals eat drink earn gain raise hatch gather
    harvest print record bring spent put cut sat slept stood threw gained built understood fed led met rang sang
    shot struck swept tore wore woke drew shook sold bought fought sought thought totaled comprise reach last give
    store transport travel watch read roast shuck miss iron emit release payed earnt invest deposit cook sleep sit
    stand throw build feed lead meet sing shoot wear draw include form create borrow lend lent return keep find get
    win pay owe spend own"""
)
#: Verbs that have two objects: `gave Ida 5 pens`.
_GIVING = word_set(
    "take takes took cost costs give gives gave leave leaves left owe owes pay pays paid save saves bring earn earns"
)
#: Words between a verb and its object: `gave away 5 pens`, `gave her 5 pens`.
PARTICLES = word_set("out up away back down off together over in")
OBJECTS = word_set("him her them it me us you")


def is_verb(words: Sequence[str], position: int) -> bool:
    """Return whether a word of a clause is probably a verb that can have an object."""
    word = words[position].lower()
    previous = words[position - 1] if position else ""
    if not position or not word.isalpha():
        return False
    if word.endswith("ed") and word not in _NO_PARTICIPLES:
        return not any(part.lower() in BEING for part in words[max(0, position - 2) : position]) or word in _TWO_OBJECTS
    if word in VERBS or word in _FORMS:
        return previous.lower() not in DETERMINERS | {"a", "an"} and (
            not any(part.lower() in BEING for part in words[max(0, position - 2) : position]) or word in _TWO_OBJECTS
        )
    if previous.lower() in ("have", "has", "had"):
        return word.endswith(("n", "t", "d", "k", "m")) and word not in BEING | PREPOSITIONS | {"been", "about"}
    if previous.lower() in MODALS:
        return word not in BEING | PREPOSITIONS
    return word.endswith("s") and not word.endswith(("ss", "us", "is", "'s")) and _is_singular(words[:position])


def _is_singular(subject: Sequence[str]) -> bool:
    """Return whether a subject can have a verb with `s`: `he`, `Ann`, `each box`."""
    last = subject[-1]
    if last.lower() in DETERMINERS | PREPOSITIONS:
        return last.lower() in ("he", "she", "it", "who")
    if last.lower() in ("he", "she", "it", "who") or (last[0].isupper() and len(subject) <= 3):
        return True
    first = subject[0].lower()
    return (first in DETERMINERS | {"a", "an", "every"} or subject[0].endswith(("'s", "’s"))) and not last.endswith("s")


def has_verb(words: Sequence[str]) -> bool:
    """Return whether words probably contain a verb."""
    return any(word.lower() in BEING for word in words[1:]) or any(is_verb(words, at) for at in range(1, len(words)))


def takes_object(words: Sequence[str]) -> bool:
    """Return whether words end with a verb, or with a verb and a particle or another object: `gave her`."""
    end = len(words) - 1
    if is_verb(words, end):
        return True
    if end > 1 and words[end].lower() in OBJECTS | PARTICLES and is_verb(words, end - 1):
        return True
    for at in range(end - 1, max(0, end - 4), -1):
        if words[at].lower() in _GIVING:
            first = words[at + 1].lower()
            return words[at + 1][0].isupper() or first in DETERMINERS | OBJECTS | {"every", "a", "an", "both"}
    return False
