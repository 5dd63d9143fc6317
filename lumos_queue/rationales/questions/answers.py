"""Finds the words of a sentence that answer a question for a date, a number, a size or a name.

The words that are only in the sentence must be exactly one span of the requested kind, and few other words. Other
questions with `what` and `which` are answered from the sentence's grammar (predicates.py).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from lumos_queue.rationales.questions.english import LIGHT_WORDS
from lumos_queue.rationales.questions.predicates import noun_of, read_predicate
from lumos_queue.rationales.questions.spans import Span, dates, names, quantities
from lumos_queue.rationales.questions.word_matches import content, has_form, same_word, words
from lumos_queue.rationales.word_set import word_set

#: By kind, the limit of words that are only in the sentence. Dates are recognised reliably: their limit is high.
MAX_EXTRA_WORDS = {"when": 3, "how many": 2, "size": 1, "name": 2}
ROUGH_EXTRA_WORDS = 2  #: further words for a rough answer

WHEN = re.compile(
    r"when\b|(?:in |on |during )?(?:what|which) (?P<type>year|date|time period|years|century|decade)\b", re.IGNORECASE
)
_DURATION = re.compile(r"\b(?:time period|years|take place|last|live|held|occur|happen|happening)\b", re.IGNORECASE)
HOW_MANY = re.compile(
    r"how many (?P<noun>(?:[\w-]+ ){0,2}?[\w-]+) (?:is|are|was|were|do|does|did|has|have|had|can|could|in|on)\b",
    re.IGNORECASE,
)
_HOW = re.compile(
    r"(?:about |approximately )?how"
    r" (?P<of>tall|high|long|wide|deep|far|heavy|fast|much(?=.* (?P<much>cost|worth|weigh)))\b",
    re.IGNORECASE,
)
_SIZE = re.compile(
    r"what (?:is|was|are|were) (?:the |an? )?(?:\w+ )?(?P<of>height|length|width|depth|weight|speed|cost|price|distance"
    r"|population|capacity|lifespan|gestation period|gestational period|net worth|diameter)\b",
    re.IGNORECASE,
)
_MEASURES = {
    "length": word_set("tall high wide deep far height length width depth distance diameter long"),
    "mass": word_set("heavy weight weigh"),
    "speed": word_set("fast speed"),
    "money": word_set("cost price worth net"),
    "time": word_set("lifespan gestation gestational long"),
    "number": word_set("population capacity"),
}
DIMENSIONS = words("tall taller height high wide width deep depth long length diameter distance weigh weighs weight")
_WHO = re.compile(
    r"who\b|whom\b|which (?P<type>person|man|woman|author|artist|actor|actress|singer|president)\b", re.IGNORECASE
)
_WHERE = re.compile(
    r"where\b|(?:in |from )?(?:what|which) (?P<type>country|city|state|continent|town)\b", re.IGNORECASE
)

#: They qualify a number, so they belong to the result.
_HEDGE = re.compile(
    r"(?:\b(?:over|about|around|approximately|roughly|nearly|almost|only|just|some|at least|up to|more than|less than"
    r"|fewer than|between|under)\s+)+$",
    re.IGNORECASE,
)
#: Before a date that limits an event, and before the date of an event: in `the 1980 film` the year is neither.
_BOUND = re.compile(r"\b(?:until|before|after|by|since|between)\s+(?:the\s+)?$", re.IGNORECASE)
_PHASE = re.compile(r"\b(?:end(?:s|ed|ing)|beg[aiu]n\w*|start(?:s|ed|ing)?|finish\w*|stop\w*)\b", re.IGNORECASE)
_SAYS_WHEN = re.compile(
    r"^$|(?:\b(?:in|on|from|during|around|about|circa|c|is|was|were|of|year|late|early|mid|at)\.?|[(:,–-])\s*(?:the\s+)?$",
    re.IGNORECASE,
)
#: After a name that is not an adjective: `an American citizen` does not name a country.
_AFTER_NAME = re.compile(r"$|\s*[.,;()–-]|\s+(?:in|on|at|from|and|for|by|with|to|as|is|was|who|which|during|near|of)\b")
_PREPOSITION = re.compile(
    r"\b(of|in|from|at|to|with|for|on|near|like|as)\s+(?:the\s+|an?\s+)?(?:[a-z]+\s+)?$", re.IGNORECASE
)
_IN_PLACE = re.compile(r"\b(?:in|from|at|near|of|to|on)\s+(?:the\s+|downtown\s+)?$", re.IGNORECASE)


def type_words(question: str) -> set[str]:
    """Return the words of a question that only state the kind of answer. A fact that answers it may lack them."""
    group_sets = [
        match.groupdict() for pattern in (WHEN, _HOW, _SIZE, _WHO, _WHERE) if (match := pattern.match(question))
    ]
    parts = [part for groups in group_sets for part in groups.values() if part]
    return set(words(" ".join([*parts, "" if HOW_MANY.match(question) else noun_of(question)])))


def read_answer(question: str, fact: str, roughly: bool = False) -> str | None:
    """Return the words of the fact that answer the question; None if unclear. `roughly`: as in `find_answer`."""
    extra_words = ROUGH_EXTRA_WORDS if roughly else 0
    if WHEN.match(question):
        return _single(_dates(question, fact), question, fact, MAX_EXTRA_WORDS["when"] + extra_words)
    if match := HOW_MANY.match(question):
        noun = words(match["noun"])[-1]
        counts = [span for span in _not_in_question(quantities(fact), question) if _counts(noun, fact, span)]
        return _single(counts, question, fact, MAX_EXTRA_WORDS["how many"] + extra_words)
    if match := _HOW.match(question) or _SIZE.match(question):
        of = match.groupdict().get("much") or match["of"]
        return _single(_sizes(of.lower(), question, fact), question, fact, MAX_EXTRA_WORDS["size"] + extra_words)
    if roughly:
        return None
    if _WHO.match(question) or _WHERE.match(question):
        return _single(_names(question, fact), question, fact, MAX_EXTRA_WORDS["name"])
    return read_predicate(question, fact)


def _single(spans: Sequence[Span], question: str, fact: str, limit: int) -> str | None:
    """Return the only span's text if at most `limit` other words of the fact are not in the question; else None."""
    if len(spans) != 1:
        return None
    span, question_words = spans[0], words(question)
    rest = content(f"{fact[: span.start]} {fact[span.end :]}")
    if sum(word not in LIGHT_WORDS and not has_form(word, question_words) for word in rest) > limit:
        return None
    hedge = None if span.kind in ("date", "name") else _HEDGE.search(fact[: span.start])
    return f"{hedge[0].lower()}{span.text}" if hedge else span.text


def _not_in_question(spans: Sequence[Span], question: str) -> list[Span]:
    return [span for span in spans if span.text.casefold() not in question.casefold()]


def _dates(question: str, fact: str) -> list[Span]:
    spans = _not_in_question(dates(fact), question)
    if any(_BOUND.search(fact[: span.start]) or not _SAYS_WHEN.search(fact[: span.start]) for span in spans):
        return []
    if any(not has_form(phase[0].lower(), words(question)) for phase in _PHASE.finditer(fact)):
        return []  # the date of an end or a beginning is not the date of the event
    return [span for span in spans if span.low == span.high or span.text.endswith("s") or _DURATION.search(question)]


def _counts(noun: str, fact: str, span: Span) -> bool:
    """Return whether the number counts the question's noun: `seven ex-wives`, `165 years`."""
    return has_form(noun, words(span.text)) or any(same_word(noun, word) for word in words(fact[span.end :][:60])[:3])


def _sizes(of: str, question: str, fact: str) -> list[Span]:
    """Return the sizes of the kind `of` (`tall`, `much`) in the fact; [] if the fact mentions another dimension."""
    if any(has_form(word, DIMENSIONS) and not has_form(word, [*words(question), of]) for word in words(fact)):
        return []
    kinds = [kind for kind, known_words in _MEASURES.items() if of.split()[0] in known_words]
    return [span for span in _not_in_question(quantities(fact), question) if span.kind in kinds]


def _names(question: str, fact: str) -> list[Span]:
    """Return the names in the fact that are not in the question; [] if a span is perhaps no name.

    Names that are listed side by side form one span.
    """
    question_words: list[str] = words(question)
    spans: list[Span] = []
    for span in names(fact):
        if all(has_form(word, question_words) for word in content(span.text)) or (
            span.start == 0 and " " not in span.text
        ):
            continue  # the first word of a sentence is always capitalised
        between = fact[spans[-1].end : span.start] if spans else None
        if between is not None and re.fullmatch(r",? (?:and )?", between):
            start = spans.pop().start
            spans.append(Span(fact[start : span.end], start, "name"))
        else:
            spans.append(span)
    return spans if all(_is_named(span, question, fact) for span in spans) else []


def _is_named(span: Span, question: str, fact: str) -> bool:
    """Return whether the name can be the person or place that the question asks for."""
    if not _AFTER_NAME.match(fact, span.end) or set(content(span.text)) & set(words(question)):
        return False
    before = fact[: span.start]
    if _WHERE.match(question):
        return _IN_PLACE.search(before) is not None
    bound = _PREPOSITION.search(before)  # the leader of China is not China
    return bound is None or bound[1].lower() in words(question)
