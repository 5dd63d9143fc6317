"""Turns a question in the form of knowledge bases, `Acme >> founded by`, into a sentence: `What is Acme founded by?`"""

from __future__ import annotations

import re

from lumos_queue.rationales.word_set import word_set

_PERSONS = word_set(
    """author child composer creator director employer father founder head mother owner performer producer sibling
    spouse"""
)
_PERSONAL = re.compile(r"\w{3,}(?:er|or|ist|ian|ess)|president|king|queen|man|woman")
#: They end like roles but are not persons.
_THINGS = word_set(
    """river tower number order letter center chapter newspaper border cover computer career color harbor sector factor
    water winner member list parameter quarter"""
)
_PHRASES = {
    "capital of": "What is {} the capital of?",
    "cast member": "Who is a cast member of {}?",
    "crosses": "What does {} cross?",
    "educated at": "Where was {} educated?",
    "member of": "What is {} a member of?",
    "shares border with": "What does {} share its border with?",
}
_LOCATED = re.compile(r"located (in|on|at|near) (?:the )?(.+)")
_MEMBER = re.compile(r"member of (.+)")
_ENDS_IN_PREPOSITION = re.compile(r".+ (?:of|by|after|in|on|at|to|with|for|from)")
_PARTICIPLE = re.compile(r".+ (?:received|held|won|used|spoken|written)")


def is_person(noun: str) -> bool:
    """Return whether a noun is the role of a person, such as `author` or `singer`."""
    word = noun.casefold()
    return word in _PERSONS or (word not in _THINGS and _PERSONAL.fullmatch(word) is not None)


def relation_question(question: str) -> str:
    """Return the question as a sentence; a question without ` >> ` is unchanged."""
    subject, arrow, relation = (part.strip() for part in question.partition(">>"))
    if not arrow or not subject or not relation:
        return question
    if phrase := _PHRASES.get(relation):
        return phrase.replace("{}", subject)
    if match := _LOCATED.fullmatch(relation):
        return f"{match[1].capitalize()} which {match[2]} is {subject} located?"
    if match := _MEMBER.fullmatch(relation):
        return f"Which {match[1]} is {subject} a member of?"
    if _PARTICIPLE.fullmatch(relation):
        return f"What is the {relation} by {subject}?"
    if _ENDS_IN_PREPOSITION.fullmatch(relation):
        return f"What is {subject} {relation}?"
    return f"{'Who' if is_person(relation.split()[0]) else 'What'} is the {relation} of {subject}?"
