"""Which fact of a row answers a question, and with which words: for rows that state facts and no answers of steps.

How tall is Ann?             Ann is 7 feet tall.                -> 7 feet
When did Ann die?            Ann died in 1800 in Ahr.           -> 1800
Who founded Acme?            Acme was founded by Ann Berg.      -> Ann Berg
What is Acme made of?        Acme is made of ink and salt.      -> ink and salt

A fact answers when it says all that the question says, hardly more, and has one stretch of words of the kind that is
asked for (answers.py, predicates.py). It is kept when no other fact of the row comes near. Right answers count for more
here than many: where anything is unclear, there is none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from lumos_queue.rationales.questions.answers import read_answer, type_words
from lumos_queue.rationales.questions.matching import LIGHT_WORDS, content, has_form, words
from lumos_queue.rationales.questions.spans import names

MARGIN = 0.25  #: by which the share of the question's words in a fact must be above that in any other
ROUGH_SHARE, ROUGH_MARGIN = 0.6, 0.34  #: of a fact whose answer is checked in another way
MAX_CHARACTERS = 400  #: of a question or fact that is looked at
MAX_WORDS = 14  #: of a result
#: They make a sentence say the opposite, or say it of some case only.
_TURNS = re.compile(
    r"\b(?:no|not|none|never|neither|nor|without|cannot|except|unlike|non|lacks?|lacking|\w+n['’]t|if|although|though"
    r"|but|however|whether|unless|because|each|per|every)\b",
    re.IGNORECASE,
)
_LAST_DOT = re.compile(r"(?<![A-Z]\.[A-Z])\.$")  #: `D.C.` keeps its own


def find_answer(question: str, facts: Sequence[str], roughly: bool = False) -> str | None:
    """The words of a fact that answer the question; None where that is not clear.

    `roughly`: a fact may lack some of the question's words and have more of its own, where a date or number is asked
    for. For whoever checks the answer in another way.
    """
    asked = question.strip().rstrip(" ?.")
    needless = LIGHT_WORDS | type_words(asked)
    wanted = [word for word in content(asked) if word not in needless]
    if not wanted or not facts or max(map(len, (asked, *facts))) > MAX_CHARACTERS:
        return None
    shares = [_share(asked, wanted, fact) for fact in facts]
    best = max(range(len(facts)), key=lambda position: shares[position])
    margin = ROUGH_MARGIN if roughly else MARGIN
    if shares[best] < (ROUGH_SHARE if roughly else 1):
        return None
    if any(share > shares[best] - margin for position, share in enumerate(shares) if position != best):
        return None
    fact = _LAST_DOT.sub("", facts[best].strip())
    found = None if _TURNS.search(fact) else read_answer(asked, fact, roughly)
    if not found or len(found.split()) > MAX_WORDS:
        return None
    there = words(asked)
    return None if all(has_form(word, there) for word in content(found)) else found


def _share(asked: str, wanted: Sequence[str], fact: str) -> float:
    """Which part of the words the fact has; of a name whose last word it has the first ones may be missing."""
    there = words(fact)
    spared = set()
    for name in names(asked):
        *first, last = words(name.text) or [""]
        if has_form(last, there):
            spared.update(first)
    needed = [word for word in wanted if word not in spared or has_form(word, there)]
    return sum(has_form(word, there) for word in needed) / len(needed) if needed else 0.0
