"""Splits a question that compares two things into a question about each thing, in the words of the question.

Who was born earlier, Ann or Bob?           -> When was Ann born?  When was Bob born?
Which peak is higher, Ahr or Bel?           -> How high is Ahr?  How high is Bel?
Which is a comedy film, Ahr or Bel?         -> Is Ahr a comedy film?  Is Bel a comedy film?
Are Ann and Bob both opera composers?       -> Is Ann an opera composer?  Is Bob an opera composer?
Are Ann and Bob of the same nationality?    -> What is the nationality of Ann?  What is the nationality of Bob?

The question is split only if the answers from the pages clearly lead to the gold answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lumos_queue.rationales.questions.english import COMPARATIVE, LARGER, SMALLER
from lumos_queue.rationales.questions.spans import Span, compare_spans, dates, quantities
from lumos_queue.rationales.questions.word_matches import content, find, find_missing_words, has_form, words
from lumos_queue.rationales.word_set import word_set

MAX_CHARACTERS = 600  #: of a question

#: In these the names of the two things are replaced by `\0`.
_OR = re.compile(r"(?P<asked>(?:who|which|what)\b.*?),? \0 or \0", re.IGNORECASE)
_ONE_OF_TWO = re.compile(r"(?P<verb>is|was) \0 or \0 (?P<said>.+)", re.IGNORECASE)
_BOTH = re.compile(r"(?P<verb>are|were) (?:(?:both )?\0 and \0 both|both \0,? and \0) (?P<said>.+)", re.IGNORECASE)
_SAME = re.compile(
    r"(?:are|were|do|did) (?:both )?\0 and \0 (?:both )?(?:of|from|have|share) the same (?:nationality|country)", re.I
)

_IS = re.compile(r"(?:who|which|what)(?: [\w'-]+){0,5}? (?P<verb>is|was) (?P<said>.+)", re.IGNORECASE)
_BORN = re.compile(r"\bborn\b|\b(?:who|which|what)\b.* is (?:older|younger)\b", re.IGNORECASE)
_HAPPENED = re.compile(
    r"\bwas (?:first )?(published|formed|founded|established|started|released|created|built|launched|opened)\b"
)
_HIGH = re.compile(r"\b(?:mountain|peak|hill|volcano|summit)s?\b.*\b(?:higher|taller|highest|tallest)\b")
_HAS_MORE = re.compile(r"\b(?:has|have|contains|had) (?:more|the most|the fewest|fewer) ((?:[\w-]+ ){0,2}[\w-]+)")
_DEMONYM = re.compile(r"\b(?:is|was) an? (?:former |retired |professional )*([A-Z][a-z]+(?:-[A-Z][a-z]+)*) [a-z]")
_NO_PLURAL = re.compile(r"(?:of|from|in|on|at|by|\w+ed|known|born|held|used)\b")
_ORIGIN = re.compile(r"(?:of|from) ")
_NATIONAL = re.compile(r"\b(?:is|was) an? (?:[\w-]+ ){0,3}?[A-Z][a-z]+(?:-[A-Z][a-z]+)* [a-z]")
_HEAD = re.compile(r"(?P<before>.*?\b)(?P<head>\w+)(?P<after>(?: (?:of|for|in|from|by|at|on|who|that|with)\b.*)?)")
#: Nouns that only lose their `s`, though they end as other nouns do.
_REGULAR = word_set(
    """movies genies zombies cookies pies ties rookies olives natives relatives executives detectives
    houses horses courses nurses universes purses causes bases vases roses cases phrases diseases shoes"""
)
_UNCLEAR = word_set("species series axes")
_PLURAL = re.compile(r"[^siu]s$")
_BEFORE_BIRTH = re.compile(r"\bborn\b[^.]*$|\([^()]*$")
_TO = re.compile(r"\s?(?:[-–—]|\bto\b|\buntil\b|\bthrough\b)\s?")
#: Broad words: a page that calls a person a poet implies a writer, so that a missing broad word proves nothing.
_BROAD = word_set(
    """writer author artist musician entertainer performer athlete scientist company business place city plant animal
    person people group book film movie song celebrity"""
)


@dataclass(frozen=True, slots=True)
class Side:
    """The question about one of the two things, and the answer in that thing's page."""

    question: str
    result: str


@dataclass(frozen=True, slots=True)
class _Pair:
    """A question with `\\0` in place of two names, the names, the texts of their pages, and the gold answer."""

    question: str
    names: Sequence[str]
    texts: Sequence[str]
    answer: str
    strict: bool = False

    def sides(self, question: Callable[[str], str], results: Sequence[str]) -> list[Side]:
        return [Side(question(name), result) for name, result in zip(self.names, results, strict=True)]

    def choice(self) -> int | None:
        """Return the index of the name that the answer contains; None if it contains both names or none."""
        answer_words = set(words(self.answer))
        shares = [len(answer_words.intersection(words(name))) / max(1, len(set(words(name)))) for name in self.names]
        return None if shares[0] == shares[1] else int(shares[1] > shares[0])

    def judge(self, statement: str) -> list[str]:
        """Return for each page whether the statement is true: `yes` if the page contains all words of the statement.

        `no` if it lacks a word with a narrow meaning; '' if it lacks only words with a broad meaning.
        """
        statement_words = content(statement)
        gaps = [find_missing_words(statement_words, text) for text in self.texts]
        return [
            "" if not statement_words or (some and _BROAD.issuperset(some)) else "no" if some else "yes"
            for some in gaps
        ]

    def compare(self, question: Callable[[str], str], spans: Sequence[Span | None]) -> list[Side] | None:
        """Return the sides if the answer's side has the smaller or larger value that the question asks for; else None.

        `spans`: the values of the two things.
        """
        first, second = spans
        least, choice = SMALLER.search(self.question) is not None, self.choice()
        if first is None or second is None or choice is None or least == (LARGER.search(self.question) is not None):
            return None
        if compare_spans(first, second) != ("<" if (choice == 0) == least else ">"):
            return None
        return self.sides(question, [first.text, second.text])


def find_sides(
    question: str, names: Sequence[str], texts: Sequence[str], answer: str, strict: bool = False
) -> list[Side] | None:
    """Return the questions about two things with their results, in the order of the names; None if no rule applies.

    `names` are the names in the question, `texts` the sentences of their pages. `strict`: apply version 2 of the rules.
    """
    template, full_names = question.strip().rstrip(" ?."), []
    if len(template) > MAX_CHARACTERS:
        return None
    for name in names:
        location = find(name, template)
        if location is None:
            return None
        start, end = location
        article = "the " if template[:start].casefold().endswith("the ") else ""
        full_names.append(article + template[start:end])
        template = f"{template[: start - len(article)]}\0{template[end:]}"
    pair = _Pair(template, full_names, texts, answer, strict)
    readers = (_nationalities, _both, _choice, _dates, _heights, _numbers)
    return next((sides for read in readers if (sides := read(pair))), None)


def _nationalities(pair: _Pair) -> list[Side] | None:
    demonyms = [match[1] for text in pair.texts if (match := _DEMONYM.search(text))]
    if not _SAME.fullmatch(pair.question) or len(demonyms) != len(pair.texts):
        return None
    if (demonyms[0] == demonyms[1]) != (pair.answer.casefold() == "yes"):
        return None
    return pair.sides(lambda name: f"What is the nationality of {name}?", demonyms)


def _both(pair: _Pair) -> list[Side] | None:
    """Split a question whether both things have a property. If the answer is no, exactly one thing must have it."""
    match = _BOTH.fullmatch(pair.question)
    statement = _singular(match["said"], pair.strict) if match else None
    if not match or not statement:
        return None
    results = ["yes", "yes"] if pair.answer.casefold() == "yes" else pair.judge(statement)
    if pair.answer.casefold() != "yes" and sorted(results) != ["no", "yes"]:
        return None
    verb = "Is" if match["verb"].casefold() == "are" else "Was"
    return pair.sides(lambda name: f"{verb} {name} {statement}?", results)


def _singular(phrase: str, strict: bool) -> str | None:
    """Turn `opera composers` into `an opera composer`. Phrases without plural stay; None if the form is unclear."""
    if _NO_PLURAL.match(phrase):
        return phrase
    match = _HEAD.fullmatch(phrase)
    if not match or "," in phrase or not _PLURAL.search(match["head"]):
        return None
    head = _singular_noun(match["head"]) if strict else re.sub(r"ie$", "y", match["head"][:-1])
    if not head:
        return None
    noun = match["before"] + head + match["after"]
    return f"{'an' if noun[0].lower() in 'aeio' else 'a'} {noun}"


def _singular_noun(plural: str) -> str:
    """Return the singular of a noun that ends in `s`; '' if it is unclear, as for `species` and `axes`."""
    if plural in _UNCLEAR:
        return ""
    if plural in _REGULAR:
        return plural[:-1]
    if plural.endswith("ies"):
        return f"{plural[:-3]}y"
    if plural.endswith(("sses", "shes", "ches", "xes", "zzes")):
        return plural[:-2]
    return "" if plural.endswith(("ves", "ses", "oes")) else plural[:-1]


def _choice(pair: _Pair) -> list[Side] | None:
    """Split `Is Ahr or Bel public?` if the page of the answer states the property, and the other page does not."""
    either = _OR.fullmatch(pair.question)
    match = _IS.fullmatch(either["asked"].rstrip(" ,:")) if either else _ONE_OF_TWO.fullmatch(pair.question)
    if not match or COMPARATIVE.search(match["said"]):
        return None
    results, choice = pair.judge(match["said"]), pair.choice()
    if choice is None or (results[choice], results[1 - choice]) != ("yes", "no"):
        return None
    if pair.strict and not _is_refuted(match["said"], pair.texts[1 - choice]):
        return None
    return pair.sides(lambda name: f"{match['verb'].capitalize()} {name} {match['said']}?", results)


def _is_refuted(statement: str, text: str) -> bool:
    """Return whether a page that lacks a word of the statement refutes it: what a thing is, is usually on its page.

    A page that does not name the school of a person says nothing about `educated in Ahr`.
    """
    if _ORIGIN.match(statement):
        return _NATIONAL.search(text) is not None
    return _NO_PLURAL.match(statement.removeprefix("considered ")) is None


def _dates(pair: _Pair) -> list[Side] | None:
    if _BORN.search(pair.question):
        return pair.compare(lambda name: f"When was {name} born?", list(map(_birth, pair.texts)))
    if match := _HAPPENED.search(pair.question):
        spans = [_date_of(match[1], text) for text in pair.texts]
        return pair.compare(lambda name: f"When was {name} {match[1]}?", spans)
    return None


def _birth(text: str) -> Span | None:
    """Return the date after `born`, or the first date of `(1 May 1900 – 2 June 1950)`; None if there is none."""
    spans = dates(text)
    return _beginning(spans[0]) if spans and _BEFORE_BIRTH.search(text[: spans[0].start]) else None


def _date_of(verb: str, text: str) -> Span | None:
    """Return the date of an event; None if the text has several dates, or lacks the event's verb."""
    spans = dates(text)
    return _beginning(spans[0]) if len(spans) == 1 and not find_missing_words([verb], text) else None


def _beginning(span: Span) -> Span:
    """Return the first date of a period."""
    return (dates(_TO.split(span.text)[0]) or [span])[0]


def _heights(pair: _Pair) -> list[Side] | None:
    if not _HIGH.search(pair.question):
        return None
    heights = [[span for span in quantities(text) if span.kind == "length"] for text in pair.texts]
    return pair.compare(lambda name: f"How high is {name}?", list(map(_single, heights)))


def _numbers(pair: _Pair) -> list[Side] | None:
    match = _HAS_MORE.search(pair.question)
    if not match:
        return None
    noun = words(match[1])[-1:]
    counts = [
        [span for span in quantities(text) if noun and has_form(noun[0], words(text[span.end :][:60])[:3])]
        for text in pair.texts
    ]
    return pair.compare(lambda name: f"How many {match[1]} does {name} have?", list(map(_single, counts)))


def _single(spans: Sequence[Span]) -> Span | None:
    return spans[0] if len(spans) == 1 else None
