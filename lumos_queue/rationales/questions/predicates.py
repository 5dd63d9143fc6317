"""Finds the words of a sentence that are in the position of `what` or `which` in a question.

What is Acme made of?            Acme is made of ink and salt.         -> ink and salt
What kind of tree is an ahr?     An ahr is an evergreen tree.          -> an evergreen tree
What does Ann suffer from?       Ann suffered from delusions.          -> delusions
Which firm owns Acme?            Acme is owned by Bel Ltd in Ahr.      -> Bel Ltd

The sentence must begin with the words of the question in the same order, without other words, and continue with the
answer.
"""

from __future__ import annotations

import re

from lumos_queue.rationales.questions.english import LIGHT_WORDS
from lumos_queue.rationales.questions.word_matches import content, has_form, same_word, tokens, words

MAX_KIND_WORDS = 5  #: of a kind that does not contain the question's noun: `a mountain bike` is a kind of vehicle

_BEING = ("is", "are", "was", "were")
_WHAT_IS = re.compile(r"what (?:is|are|was|were) (?P<subject>[^,]+)", re.IGNORECASE)
_KIND_IS = re.compile(
    r"(?:what|which) (?:kind|type|sort|species|breed|form)s? of (?P<noun>(?:[\w-]+ )?[\w-]+) (?:is|are|was|were)"
    r" (?P<subject>[^,]+)",
    re.IGNORECASE,
)
#: `What is Acme made of`, `What does Ann suffer from`: the answer comes last in the fact.
_OBJECT = re.compile(
    r"(?:(?P<before>to|in|on|from|with|of|at|by|for) )?(?:what|which)(?P<noun>(?: [\w'’-]+){0,4}?)"
    r" (?P<verb>is|are|was|were|do|does|did|can|could) (?P<rest>.+)",
    re.IGNORECASE,
)
_SUBJECT = re.compile(r"(?:what|which)(?P<noun>(?: [\w'’-]+){1,3}?) (?P<rest>[a-z]+(?:ed|s|d) .+)", re.IGNORECASE)

_BE = re.compile(r"(?:is|are|was|were|be|been|being)\b[\s:]*", re.IGNORECASE)
_HAVE = re.compile(r"(?:has|have|had|having)\b\s*", re.IGNORECASE)
_BINDING = re.compile(
    r"(?:(?:located|found|used|known|of|by|as|with|to|in|for|from|on|at|through|like|into|about)\b\s*)*", re.IGNORECASE
)
_A_NOUN = re.compile(r"(?:an?|the)\b", re.IGNORECASE)
_ENDS = re.compile(
    r"[,;:(.]|\s[–—-]\s|\b(?:which|that|who|whose|where|when|and (?:is|are|was|were|has|have|it|they|he|she))\b"
)
_LIST = re.compile(r"(?:[^,;:.()]{1,60}, ){1,9}(?:and|or) [^,;:.()]{1,60}")
_WHEN_IT_WAS = re.compile(r"\s(?:in|on|from|between|since|during|until)\s+(?:\w+\s+)?\d.*$")
_PREPOSITION = re.compile(r"(?:to|in|on|at|from|of|with|by|for|as|through|like|into|about)\b", re.IGNORECASE)
#: Prepositions with the same meaning: made of, made with; characterized as, characterized by.
_ALIKE = ({"of", "with", "from"}, {"in", "on", "at"}, {"as", "by"})
_GERUND = re.compile(r"\w+ing\b")


def noun_of(question: str) -> str:
    """Return the noun that a question asks for: `firm` for `Which firm owns Acme`; '' if there is none."""
    match = _KIND_IS.match(question) or _OBJECT.match(question) or _SUBJECT.match(question)
    return match["noun"] if match else ""


def asks_for_kind(question: str) -> bool:
    """Return whether a question asks for the kind of a thing: `What kind of tree is an ahr`."""
    return _KIND_IS.match(question) is not None


def read_predicate(question: str, fact: str) -> str | None:
    """Return the words of the fact that answer the question; None if the fact has another form."""
    if match := _KIND_IS.fullmatch(question):
        predicate = _cut(_complement(match["subject"], fact))
        is_named = has_form(words(match["noun"])[-1], words(predicate))
        return (
            predicate if is_named or (_A_NOUN.match(predicate) and len(predicate.split()) <= MAX_KIND_WORDS) else None
        )
    if (match := _WHAT_IS.fullmatch(question)) and (predicate := _complement(match["subject"], fact)):
        return predicate
    if match := _OBJECT.fullmatch(question):
        return _object(match, fact)
    if match := _SUBJECT.fullmatch(question):
        return _agent(match["rest"], fact)
    return None


def _complement(subject: str, fact: str) -> str:
    """Return the words after subject and verb, such as `a tree` in `An ahr is a tree`; '' for other forms."""
    tail = _after(subject, fact)
    verb = _BE.match(tail) if tail else None
    return tail[verb.end() :].strip() if tail and verb else ""


def _object(match: re.Match[str], fact: str) -> str | None:
    """Return the words of the fact after the words of the question; None if the fact has another form."""
    noun, verb, rest = match["noun"], match["verb"].lower(), match["rest"]
    tail, ending = _after(rest, fact), words(rest)[-1:]
    if tail is None or ending in (["do"], ["done"]):
        return None
    being_match, having_match = _BE.match(tail), _HAVE.match(tail)
    if (being_match and verb not in _BEING) or bool(having_match) != (ending in (["have"], ["has"], ["had"])):
        return None
    if not being_match and not _same_preposition(match, tail):
        return None
    start = being_match or having_match
    predicate = _BINDING.sub("", tail[start.end() :] if start else tail, count=1)
    if verb in _BEING and (predicate == tail or _GERUND.match(predicate)):
        return None  # the fact continues with another verb or a gerund
    if being_match and noun and not has_form(words(noun)[-1], words(_cut(predicate))):
        return None
    return _cut(predicate) or None


def _same_preposition(match: re.Match[str], tail: str) -> bool:
    """Return whether question and fact use equivalent prepositions: not `used on water` and `used to carry`."""
    last_words = words(match["rest"])[-1:]
    question_words = (
        last_words if last_words and _PREPOSITION.fullmatch(last_words[0]) else words(match["before"] or "")
    )
    fact_preposition = _PREPOSITION.match(tail)
    if not question_words or not fact_preposition or question_words[0] == fact_preposition[0].lower():
        return True
    return any({question_words[0], fact_preposition[0].lower()} <= group for group in _ALIKE)


def _agent(rest: str, fact: str) -> str | None:
    """Return the agent of a passive, such as `Bel Ltd` in `… is owned by Bel Ltd in Ahr`; None if there is none."""
    verb, rest_words = words(rest)[0], words(rest)
    for word, _, end in tokens(fact):
        after = re.match(r"\s+by\s+(.+)", fact[end:])
        if (
            after
            and same_word(word, verb)
            and all(
                has_form(content_word, rest_words)
                for content_word in content(fact[:end])
                if content_word not in LIGHT_WORDS
            )
        ):
            return _cut(after[1]) or None
    return None


def _after(subject: str, fact: str) -> str | None:
    """Return the rest of a fact after its subject; None if it begins with other content words than the subject's."""
    content_words = [word for word in content(subject) if word not in LIGHT_WORDS]
    fact_tokens = tokens(fact)
    positions = [number for number, (word, _, _) in enumerate(fact_tokens) if has_form(word, content_words)]
    if not positions or not same_word(fact_tokens[positions[-1]][0], content_words[-1]):
        return None
    end = fact_tokens[positions[-1]][2]
    subject_words = words(subject)
    beside = [word for word in content(fact[:end]) if word not in LIGHT_WORDS and not has_form(word, subject_words)]
    return None if beside else fact[end:].strip()


def _cut(text: str) -> str:
    """Return the words up to the end of the phrase; a list stays whole."""
    return text if _LIST.fullmatch(text) else _WHEN_IT_WAS.sub("", _ENDS.split(text)[0]).strip()
