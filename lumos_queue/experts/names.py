"""Find the expert that a text names, by names and aliases in any case, with or without hyphens.

Of the aliases that begin first, the longest counts: 'Visual Question Answering' is not 'Question Answering'.
"""

from __future__ import annotations

import re
from functools import lru_cache

from lumos_queue.experts.catalogue import EXPERTS, PLANNABLE

_GAP = re.compile(r"[\s_\-‐‑–]+")


def find_name(text: str) -> str:
    """Return the canonical name of the first expert that the text mentions; '' if it mentions none."""
    match = _pattern().search(_normal(text))
    return _aliases()[match[0]] if match else ""


def exact_name(text: str) -> str:
    """Return the canonical name of the expert whose name or alias is the whole text; '' if there is none."""
    return _aliases().get(_normal(text).strip(), "")


def _normal(text: str) -> str:
    """Return the text in lower case; runs of spaces, line breaks, hyphens and underscores become one space.

    The time is proportional to the length of the text.
    """
    return _GAP.sub(" ", text.lower())


@lru_cache(1)
def _aliases() -> dict[str, str]:
    return {
        _normal(alias): name for name in PLANNABLE for alias in (name, *EXPERTS[name].aliases, EXPERTS[name].option)
    }


@lru_cache(1)
def _pattern() -> re.Pattern[str]:
    """Return a pattern of all aliases, longest first, so that the longest alias at a position matches."""
    longest_first = sorted(_aliases(), key=len, reverse=True)
    return re.compile(rf"(?<![a-z0-9])(?:{'|'.join(map(re.escape, longest_first))})(?![a-z0-9])")
