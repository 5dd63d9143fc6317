"""Which expert a piece of text names: aliases in any case, with or without hyphens; the longest of those that begin
first, so that 'Visual Question Answering' is not 'Question Answering'."""

from __future__ import annotations

import re
from functools import lru_cache

from lumos_queue.experts.catalogue import EXPERTS, PLANNABLE

_GAP = re.compile(r"[\s_\-‐‑–]+")


def find_name(text: str) -> str:
    """The canonical name of the first expert that the text mentions; '' where it mentions none."""
    found = _pattern().search(_normal(text))
    return _aliases()[found[0]] if found else ""


def exact_name(text: str) -> str:
    """The canonical name of the expert that the text is a name of; '' where it is not one's."""
    return _aliases().get(_normal(text).strip(), "")


def _normal(text: str) -> str:
    """In lower case, with one space for spaces, line breaks, hyphens and underscores. Linear in the text."""
    return _GAP.sub(" ", text.lower())


@lru_cache(1)
def _aliases() -> dict[str, str]:
    return {
        _normal(alias): name for name in PLANNABLE for alias in (name, *EXPERTS[name].aliases, EXPERTS[name].option)
    }


@lru_cache(1)
def _pattern() -> re.Pattern[str]:
    """All aliases, the longest first: at the place where several begin, it is the one that is found."""
    longest_first = sorted(_aliases(), key=len, reverse=True)
    return re.compile(rf"(?<![a-z0-9])(?:{'|'.join(map(re.escape, longest_first))})(?![a-z0-9])")
