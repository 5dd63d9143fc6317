"""What a language agent reads of a web page: its paragraphs and lists, its first table, and where its lists lead.

Covered: broken markup, elements nested too deeply (what is below is lost), scripts and notes (left out), pages of
many megabytes (only so many paragraphs are kept). Nothing a page names is fetched.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import lxml.etree
import lxml.html

MIN_WORDS = 10  #: a paragraph or list has more words than this; spec/lumos.md 5.2
TABLE_ROWS = 20
MAX_CHARACTERS = 4_000  #: of a paragraph, of the table
MAX_LINKS = 10
_WIKI = "/wiki/"
_BLOCKS = ("p", "div", "ul", "ol", "li", "dl", "dt", "dd", "table", "tr", "td", "th", "br", "h2", "h3", "h4")
_UNREAD = ("script", "style", "noscript", "template", "sup", "nav")
_UNREAD_CLASSES = {"mw-editsection", "navbox", "reflist", "hatnote", "toc", "catlinks", "noprint"}


@dataclass(frozen=True, slots=True)
class Article:
    """The readable part of a page."""

    paragraphs: tuple[str, ...]  #: paragraphs and outermost lists, white space collapsed
    table: str  #: rows of the first table, separated by '; ', cells by ' | '
    links: tuple[str, ...]  #: titles of the pages that its list items lead to, in order


def read_article(html: str, max_paragraphs: int) -> Article:
    """Parse a page's HTML. Never raises because of the HTML; blocks for about 0.1 s for each megabyte."""
    parser = lxml.html.HTMLParser(
        encoding="utf-8", remove_comments=True, remove_pis=True, no_network=True, huge_tree=False
    )
    try:
        root = lxml.html.document_fromstring(html.replace("\0", " ").encode("utf-8", "replace"), parser=parser)
    except (lxml.etree.LxmlError, ValueError):  # nothing in it is an element
        return Article((), "", ())
    for element in [one for one in root.iter() if _is_unread(one)]:
        if element.getparent() is not None:
            element.drop_tree()
    paragraphs = []
    for text in _texts(root):
        if len(text.split()) > MIN_WORDS:
            paragraphs.append(text)
            if len(paragraphs) == max_paragraphs:
                break
    return Article(tuple(paragraphs), _table(root), tuple(_links(root)))


def _is_unread(element: Any) -> bool:
    return element.tag in _UNREAD or not _UNREAD_CLASSES.isdisjoint(element.get("class", "").split())


def _texts(root: Any) -> Iterator[str]:
    for element in root.iter("p", "ul", "ol"):
        if element.tag == "p" or not any(one.tag in ("ul", "ol") for one in element.iterancestors()):
            yield _text(element)


def _table(root: Any) -> str:
    table = next(root.iter("table"), None)
    if table is None:
        return ""
    rows = []
    for row in table.iter("tr"):
        rows.append(" | ".join(filter(None, (_text(cell) for cell in row if cell.tag in ("td", "th")))))
        if len(rows) == TABLE_ROWS:
            break
    return "; ".join(filter(None, rows))[:MAX_CHARACTERS]


def _links(root: Any) -> Iterator[str]:
    """Of each list item the first link to an article; each title once."""
    seen: set[str] = set()
    for item in root.iter("li"):
        link = next((one for one in item.iter("a") if _title(one.get("href", ""))), None)
        title = "" if link is None else _title(link.get("href"))
        if title and title not in seen:
            seen.add(title)
            yield title
            if len(seen) == MAX_LINKS:
                return


def _title(address: str) -> str:
    """The title that the address of an article names; empty for any other address."""
    name = unquote(address[len(_WIKI) :].partition("#")[0]) if address.startswith(_WIKI) else ""
    return "" if ":" in name else name.replace("_", " ").strip()


def _text(element: Any) -> str:
    return " ".join("".join(_pieces(element)).split())[:MAX_CHARACTERS]


def _pieces(element: Any) -> Iterator[str]:
    """The texts of an element in order; what is on different lines is kept apart, so as not to become one word."""
    for event, one in lxml.etree.iterwalk(element, events=("start", "end")):
        if one.tag in _BLOCKS:
            yield " "
        text = one.text if event == "start" else one.tail if one is not element else None
        if text:
            yield text
