"""Find the titles in a query, in the spellings of people and models."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from urllib.parse import unquote

_ADDRESS = re.compile(r"(?:https?://[a-z-]+\.wikipedia\.org)?/wiki/([^?#]+)", re.IGNORECASE)
_QUOTES = "\"'`“”‘’ "
MAX_TITLES = 10  #: in one query
MAX_CHARACTERS = 5_000  #: that are read: ordering accents takes time in the square of their number


def key_of(title: str) -> str:
    """Return the key that all spellings of a title share, without case, accents, underscores, quotes and a full stop.

    The address of a Wikipedia page is a spelling of the page's title.
    """
    title = title[:MAX_CHARACTERS]
    if address := _ADDRESS.fullmatch(title.strip()):
        title = unquote(address[1])
    title = unicodedata.normalize("NFKD", title.replace("_", " ")).casefold()
    letters = "".join(letter for letter in title if not unicodedata.combining(letter))
    return " ".join(letters.strip(_QUOTES).rstrip(".").split())


def titles_in(query: str, find_pages: Callable[[str], list[int]]) -> list[int]:
    """Return the numbers of the pages that a query names: one title, or several (`Ann, Washington, D.C.` has two).

    `find_pages` returns the numbers of the pages with a title. The result is [] unless the query consists of titles
    alone, so that a question that begins with a title names no page.
    """
    if whole := find_pages(query):
        return whole
    parts = query.split(", ")
    if not 1 < len(parts) <= MAX_TITLES:
        return []
    numbers: list[int] = []
    first = 0
    while first < len(parts):
        for last in range(len(parts), first, -1):
            if pages := find_pages(", ".join(parts[first:last])):
                numbers += pages
                first = last
                break
        else:
            return []
    return list(dict.fromkeys(numbers))
