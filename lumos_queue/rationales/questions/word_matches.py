"""Compares the words of two texts, to decide whether a sentence is about the subject of a question.

Forms of a word and synonyms count as equal: tall, taller; create, creator; die, death.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from lumos_queue.rationales.questions.english import FUNCTION_WORDS, SYNONYMS

MIN_PREFIX = 4  #: common letters at the beginning of two forms of one word
MAX_SUFFIX = 4  #: letters of the longer form after these

_WORD = re.compile(r"[^\W_]+(?:[.'’&/-][^\W_]+)*")
_POSSESSIVE = re.compile(r"['’]s?$")
#: By word, the number of its group of synonyms.
_SYNONYM_GROUP = {word: number for number, group in enumerate(SYNONYMS) for word in group.split()}
_ENDINGS = frozenset(("s", "d", "es", "ed", "ing", "er", "n", "r", "ly", "al"))


def tokens(text: str) -> list[tuple[str, int, int]]:
    """Return (word, start, end) of each word of a text, in lower case and without possessive endings."""
    matches = [(_POSSESSIVE.sub("", match[0].casefold()), match.start(), match.end()) for match in _WORD.finditer(text)]
    return [token for token in matches if token[0]]


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, without possessive endings."""
    return [word for word, _, _ in tokens(text)]


def content(text: str) -> list[str]:
    """Return the content words of a text, which are all but function words, without repetitions."""
    return list(dict.fromkeys(word for word in words(text) if word not in FUNCTION_WORDS))


def same_word(first: str, second: str) -> bool:
    """Return whether two words are forms of one word, or synonyms."""
    if first == second:
        return True
    if first in _SYNONYM_GROUP or second in _SYNONYM_GROUP:
        return _SYNONYM_GROUP.get(first) == _SYNONYM_GROUP.get(second)
    if first[:1].isdigit() or second[:1].isdigit():
        return False
    short, long = sorted((first, second), key=len)
    common = next((position for position, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    if common == len(short) and long[common:] in _ENDINGS:
        return True
    return common >= max(MIN_PREFIX, len(short) - 2) and len(long) - common <= MAX_SUFFIX


def has_form(word: str, candidates: Iterable[str]) -> bool:
    """Return whether a form or a synonym of the word is among the candidates."""
    return any(same_word(word, candidate) for candidate in candidates)


def find_missing_words(target_words: Iterable[str], text: str) -> list[str]:
    """Return the target words of which the text contains neither a form nor a synonym."""
    text_words = words(text)
    return [word for word in target_words if not has_form(word, text_words)]


def find(phrase: str, text: str, start: int = 0) -> tuple[int, int] | None:
    """Return start and end of the first occurrence of a phrase as whole words, ignoring case; None if there is none."""
    match = re.compile(rf"(?<!\w){re.escape(phrase)}(?!\w)", re.IGNORECASE).search(text, start) if phrase else None
    return match.span() if match else None


def occurs(phrase: str, text: str) -> bool:
    """Return whether a phrase occurs in a text as whole words, ignoring case."""
    return find(phrase, text) is not None
