"""Tables of Markdown, which GitHub and MkDocs read alike."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

_CODE = re.compile(r"(`[^`]*`)")
_SPECIAL = re.compile(r"([\\*\[\]<>])")


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are Markdown already; a vertical bar in a cell is escaped here."""
    lines = ([cell.replace("|", r"\|") for cell in line] for line in (headings, ["---"] * len(headings), *rows))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def plain(text: str) -> str:
    """A text as Markdown that shows it: what stands between backticks is code, and nothing else is markup."""
    pieces = _CODE.split(text)
    return "".join(piece if piece.startswith("`") else _SPECIAL.sub(r"\\\1", piece) for piece in pieces)


def code(text: str) -> str:
    """A short text as code; empty stays empty. One with a vertical bar is HTML, which all parsers read alike."""
    if "|" in text:
        return f"<code>{escape(text).replace('|', '&#124;')}</code>"
    return f"`{text}`" if text else ""
