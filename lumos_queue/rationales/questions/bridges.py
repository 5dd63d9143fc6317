"""Splits a question about a thing that it only describes into two: the first asks for the thing, the second about it.

Where was the author of Ahr born?                -> Who is the author of Ahr?  Where was #1 born?
Ann runs a firm that sells what?                 -> Ann runs which firm?  #1 sells what?
How long is the river that crosses Bel in Ahr?   -> Which river crosses Bel in Ahr?  How long is #1?

Both questions consist of the words of the original question. Each is answered by one of the row's two pages, which is
chosen by common words. The described thing is the title of one page and occurs in the other page; the answer occurs in
the page of the second question.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lumos_queue.rationales.questions.bridge_checks import has_rivals, has_type, is_named_beside, is_relation
from lumos_queue.rationales.questions.relations import is_person
from lumos_queue.rationales.questions.word_matches import content, find, find_missing_words, occurs
from lumos_queue.rationales.word_set import word_set

MIN_COVERAGE = 0.6  #: share of a part's words that must occur on its page
MAX_CHARACTERS = 600  #: of a question

_NOUN = r"(?P<noun>(?:[\w'’-]+ ){0,5}?[\w'’-]+)"
_ARTICLE = r"\b(?:[Tt]he|[Aa]n?|[Tt]his)"
_WH = r"(?:who|whom|whose|what|which|when|where|how)"
#: Descriptions: a relative clause, a participle, `of`. The clause ends where the description ends.
_RELATIVE = re.compile(rf"{_ARTICLE} {_NOUN},? (?P<link>who|that|which|whose) (?P<clause>.+)")
_PREPOSITION = re.compile(rf"{_ARTICLE} {_NOUN} (?P<link>at|in|on|by|with|for|of|to) which (?P<clause>.+)")
_PARTICIPLE = re.compile(
    rf"{_ARTICLE} {_NOUN} (?P<clause>(?:known|\w+ed|written|built|held|born|sung|led)"
    r" (?:by|for|in|as|at|to|with|on|of|near)\b.+)"
)
_OF = re.compile(rf"{_ARTICLE} {_NOUN} of (?P<clause>(?:the )?[A-Z\"“0-9].+)")
#: `Ann runs a firm that …`; in `Ann is a poet that …` Ann is described, not another thing.
_IN_PLACE = re.compile(
    rf"(?P<before>.+(?<!\bis)(?<!\bwas)(?<!\bare)(?<!\bwere)) (?:a|an|the|this) {_NOUN},? (?:who|that|which)"
    rf" (?P<after>.+ {_WH}\b.*)"
)
_ASKS = re.compile(rf"(?:^|(?:at|in|on|by|with|for|of|to|from|through) ){_WH}\b", re.IGNORECASE)
_ASKS_WITHIN = re.compile(r"\b(?:what|which|how many|how much|whom)\b", re.IGNORECASE)
_SUBJECT = re.compile(r"(?:[A-Z\"“]|(?:the|a|an|he|she|it|they|his|her|their)\b)")
_PERSON_NOUNS = word_set("person man woman individual one people")
_NAMED = re.compile(r"[A-Z\"“0-9]")
_COMMON_WORD = re.compile(r"[a-z'’-]+")
#: They do not occur in a noun phrase. `and` and `of` do, but not at its end.
_NO_NOUN = word_set("or is was are were has had have did does do be been to in on at by with for from who that")
_SECOND = re.compile(r"\band (?:who|whose|which|that)\b")  #: another description of the same thing
_GOES_ON = re.compile(r"(?:and|or|but|that|which|who|whose|of|in)\b|[,:;(]")


@dataclass(frozen=True, slots=True)
class TitledPage:
    """A supporting page: its title without brackets, and its supporting sentences."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Bridge:
    """The two questions, the indexes of their pages, and the answer of the first, which is `#1` in the second."""

    first: str
    second: str
    pages: tuple[int, int]
    answer: str


@dataclass(frozen=True, slots=True)
class _Split:
    """The question for the described thing, the question about `#1`, and the noun phrase for the thing."""

    first: str
    second: str
    noun: str
    is_of: bool = False  #: whether the thing is described as `the NOUN of …`


def find_bridge(question: str, pages: Sequence[TitledPage], answer: str, strict: bool = False) -> Bridge | None:
    """Return the split whose questions have the most words in common with their pages; None if they have too few.

    `strict`: apply the checks of version 2 of the rules (bridge_checks.py).
    """
    if len(question) > MAX_CHARACTERS:
        return None
    best, best_share = None, 0.0
    for split in _splits(question.strip().rstrip(" ?."), pages):
        for indexes in ((0, 1), (1, 0)):
            first_page, second_page = (pages[index] for index in indexes)
            shares = _coverage(split.first, first_page), _coverage(split.second.replace("#1", ""), second_page)
            if min(shares) < MIN_COVERAGE or sum(shares) <= best_share:
                continue
            for title in _connections(first_page, second_page, answer):
                if not strict or _is_right(split, title, first_page, second_page):
                    best, best_share = Bridge(split.first, split.second, indexes, title), sum(shares)
    return best


def _is_right(split: _Split, title: str, first: TitledPage, second: TitledPage) -> bool:
    """Return whether the title is of the requested type, and the only answer on the page of the first question."""
    own_text, other_text = (first.text, second.text) if title == first.title else (second.text, first.text)
    if split.is_of and not (is_relation(split.noun) and is_named_beside(split.noun, own_text, other_text)):
        return False
    if not split.is_of and not has_type(split.noun, title, own_text, other_text):
        return False
    return title == first.title or not has_rivals(title, split.noun, split.first, first.text)


def _connections(first: TitledPage, second: TitledPage, answer: str) -> Iterator[str]:
    """Yield the possible answers of the first question: titles of a page that the other page mentions."""
    if occurs(first.title, second.text) and occurs(answer, f"{second.title} {second.text}"):
        yield from () if _overlap(first.title, answer) else (first.title,)
    if occurs(second.title, first.text) and occurs(answer, second.text):
        yield from () if _overlap(second.title, answer) else (second.title,)


def _overlap(title: str, answer: str) -> bool:
    return occurs(title, answer) or occurs(answer, title)


def _coverage(text: str, page: TitledPage) -> float:
    content_words = content(text)
    return (
        1 - len(find_missing_words(content_words, f"{page.title} {page.text}")) / len(content_words)
        if content_words
        else 0.0
    )


def _splits(question: str, pages: Sequence[TitledPage]) -> Iterator[_Split]:
    """Yield each way to split a question."""
    match = _IN_PLACE.fullmatch(question)
    before = match["before"] if match and _is_noun(match["noun"]) else ""
    if match and _NAMED.search(before[1:]) and not _ASKS_WITHIN.search(before):
        yield _Split(f"{before} which {match['noun']}?", f"#1 {match['after']}?", match["noun"])
    for start in [match.start() for match in re.finditer(_ARTICLE, question)]:
        for pattern in (_RELATIVE, _PREPOSITION, _PARTICIPLE, _OF):
            match = pattern.match(question, start)
            if not match or not _is_noun(match["noun"]):
                continue
            for end in _ends(question, match.start("clause"), pages):
                clause, before, after = question[match.start("clause") : end].strip(), question[:start], question[end:]
                first = _question_of(match, clause) if _describes(pattern, clause, pages) else None
                if first and _asks(before, after):
                    yield _Split(first, f"{before}#1{after}?", match["noun"], pattern is _OF)


def _ends(question: str, start: int, pages: Sequence[TitledPage]) -> Iterator[int]:
    """Yield the possible ends of a description that begins at `start`: ends of the question and of pages' titles."""
    yield len(question)
    for page in pages:
        location = find(page.title, question, start)
        if location is None:
            continue
        begin, end = location
        for longer in [end + word.end() for word in re.finditer(r"\S+", question[end:])]:
            if not occurs(question[begin:longer], page.text):
                break
            end = longer
        end += len(question[end:]) - len(question[end:].lstrip('"”)'))
        if end < len(question) and not _GOES_ON.match(question[end:].strip()):
            yield end


def _is_noun(noun: str) -> bool:
    """Return whether the words can be a noun phrase that ends in a common noun."""
    parts = noun.split()
    return _COMMON_WORD.fullmatch(parts[-1]) is not None and parts[-1] not in ("and", "of") and not _NO_NOUN & {*parts}


def _describes(pattern: re.Pattern[str], clause: str, pages: Sequence[TitledPage]) -> bool:
    """Return whether a clause has a name, one description and no question. After `of`, a page must have the name."""
    if not _NAMED.search(clause) or _ASKS_WITHIN.search(clause) or _SECOND.search(clause):
        return False
    name = clause.removeprefix("the ").strip(' "“”')
    return pattern is not _OF or any(occurs(name, f"{page.title}\n{page.text}") for page in pages)


def _asks(before: str, after: str) -> bool:
    """Return whether the text around a description is a complete question."""
    if _ASKS.match(before):
        return bool(content(f"{before} {after}"))
    return not before and _ASKS_WITHIN.search(after) is not None


def _question_of(match: re.Match[str], clause: str) -> str | None:
    """Return the question for the described thing; None if the clause may end before its verb."""
    noun, link = match["noun"], match.groupdict().get("link")
    last = noun.split()[-1]
    who = "Who" if last in _PERSON_NOUNS else f"Which {noun}"
    if match.re is _OF:
        return f"{'Who' if is_person(last) else 'What'} is the {noun} of {clause}?"
    if match.re is _PARTICIPLE:
        return f"{who} was {clause}?"
    if link == "whose":
        return f"Whose {clause}?" if who == "Who" else f"{who}'s {clause}?"
    if match.re is _RELATIVE and not _SUBJECT.match(clause):
        return f"{who} {clause}?"
    if not _COMMON_WORD.fullmatch(clause.split()[-1]):
        return None
    preposition = f" {link}" if match.re is _PREPOSITION else ""
    return f"{clause[0].upper()}{clause[1:]}{preposition} which {noun}?"
