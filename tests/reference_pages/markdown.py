"""Write Markdown that GitHub and MkDocs read alike."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

_CODE = re.compile(r"(`[^`]*`)")
_SPECIAL = re.compile(r"([\\*\[\]<>])")


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of cells in Markdown. Vertical bars in cells are escaped."""
    lines = ([cell.replace("|", r"\|") for cell in line] for line in (headings, ["---"] * len(headings), *rows))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def plain(text: str) -> str:
    """Return a plain text as Markdown. Text between backticks is code; other markup is escaped."""
    pieces = _CODE.split(text)
    return "".join(piece if piece.startswith("`") else _SPECIAL.sub(r"\\\1", piece) for piece in pieces)


def code(text: str) -> str:
    """Return a short text as code; empty stays empty. A text with a vertical bar becomes HTML."""
    if "|" in text:
        return f"<code>{escape(text).replace('|', '&#124;')}</code>"
    return f"`{text}`" if text else ""
