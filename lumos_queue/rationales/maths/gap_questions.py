"""Asks for the number that a clause lacks, with all words of the clause, so that no other quantity can be meant.

On Saturday, she sold | | boxes   ->  the answer to 'On Saturday, she sold how many boxes?'
The price of the cup is | $ |     ->  the answer to 'The price of the cup is how much?'
Third year: | | apples            ->  the answer to 'Third year: how many apples?'
"""

from __future__ import annotations

import re

from lumos_queue.rationales.maths.english import BEING
from lumos_queue.rationales.maths.gaps import Gap

_ORDINAL = re.compile(r"(?:st|nd|rd|th)\b\s*")
_SPACE = re.compile(r" (?=[,.;:])")
_ARTICLE = re.compile(r" (?:an?|the)\Z", re.IGNORECASE)


def ask_for_gap(gap: Gap) -> str:
    """Return the clause as a question for its number; a clause without words gives `the answer to 'How many?'`."""
    left, right = gap.left.rstrip(" .;="), gap.right
    if ordinal := _ORDINAL.match(right):
        question, right = "which", right[ordinal.end() :]
    elif gap.is_money:
        question = "how much"
    elif gap.is_percent:
        question = "what percentage"
    else:
        is_bare = not right and left.rpartition(" ")[2].lower() in BEING
        question = "what number" if is_bare else "how many"
    text = _SPACE.sub("", " ".join(filter(None, (_ARTICLE.sub("", left), question, right))))
    return f"the answer to '{text[:1].upper()}{text[1:]}?'"
