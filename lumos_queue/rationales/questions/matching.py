"""Which words of two texts say the same: enough to tell whether a sentence speaks of what a question asks.

tall, taller; create, creator; die, death.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

MIN_PREFIX = 4  #: letters in common of two forms of one word
MAX_SUFFIX = 4  #: letters of the longer one after these

_WORD = re.compile(r"[^\W_]+(?:[.'’&/-][^\W_]+)*")
_POSSESSIVE = re.compile(r"['’]s?$")
#: They say how something is asked, or bind the words around them: a sentence that answers may have others.
FUNCTION_WORDS = frozenset(
    """a an the this that these those of in on at to from by with for as and or but than into about during between its
    it his her hers him he she their theirs them they who whom whose which what when where why how is are was were be
    been being do does did doing done has have had having will would can could may might must should there if then so
    such also any some you your we our i me my not no many much name type types kind kinds considered called both
    described""".split()  # noqa: SIM905
)
#: They change little in what a sentence says of its subject, and a question may have them where its answer has not.
LIGHT_WORDS = frozenset(
    """typically usually commonly normally generally often mostly mainly primarily around about approximately roughly
    average said thought believed estimated located take takes took taken place happen happened occur occurred held
    total number overall currently originally normal general over up just ago fictional character famous popular main
    consist consists consisted""".split()  # noqa: SIM905
)
#: Words of one meaning that look different; a question often has the one and its answer the other.
_SYNONYMS = (
    "child children kid kids son sons daughter daughters", "die dies died dead death passed",
    "born birth birthplace", "author authors wrote write writes written writer",
    "spouse wife wives husband married marry",
    "movie movies film films", "us u.s usa america american united", "began begin begun started start starts",
    "person people persons", "buried burial interred", "cost costs price", "foot feet", "won win wins winner",
    "sell sold sells selling", "made make makes making", "publish publishes published publication",
    "hold holds", "tall taller height high", "weigh weighs weight", "known know", "led lead leader leads",
    "found founded founder founders founding",
)  # fmt: skip
_SYNONYM_SET = {word: number for number, group in enumerate(_SYNONYMS) for word in group.split()}
_ENDINGS = frozenset(("s", "d", "es", "ed", "ing", "er", "n", "r", "ly", "al"))


def tokens(text: str) -> list[tuple[str, int, int]]:
    """The words of a text in lower case, without possessive endings, with where they begin and end."""
    found = [(_POSSESSIVE.sub("", match[0].casefold()), match.start(), match.end()) for match in _WORD.finditer(text)]
    return [token for token in found if token[0]]


def words(text: str) -> list[str]:
    return [word for word, _, _ in tokens(text)]


def content(text: str) -> list[str]:
    """The words that say what a text is about, each once."""
    return list(dict.fromkeys(word for word in words(text) if word not in FUNCTION_WORDS))


def same_word(first: str, second: str) -> bool:
    """Whether two words are forms of one word, or of one meaning."""
    if first == second:
        return True
    if first in _SYNONYM_SET or second in _SYNONYM_SET:
        return _SYNONYM_SET.get(first) == _SYNONYM_SET.get(second)
    if first[:1].isdigit() or second[:1].isdigit():
        return False
    short, long = sorted((first, second), key=len)
    common = next((position for position, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    if common == len(short) and long[common:] in _ENDINGS:
        return True
    return common >= max(MIN_PREFIX, len(short) - 2) and len(long) - common <= MAX_SUFFIX


def has_form(word: str, others: Iterable[str]) -> bool:
    return any(same_word(word, other) for other in others)


def missing_words(wanted: Iterable[str], text: str) -> list[str]:
    """The words that the text has in no form."""
    there = words(text)
    return [word for word in wanted if not has_form(word, there)]


def find(phrase: str, text: str, start: int = 0) -> tuple[int, int] | None:
    """Where a text first has a phrase as whole words, in any case."""
    found = re.compile(rf"(?<!\w){re.escape(phrase)}(?!\w)", re.IGNORECASE).search(text, start) if phrase else None
    return found.span() if found else None


def occurs(phrase: str, text: str) -> bool:
    return find(phrase, text) is not None
