"""Read the part of a web page that a language agent needs: paragraphs and lists, the first table, and links in lists.

Pages are hostile. Broken markup is read, the contents of too deeply nested elements are lost, scripts and notes are
left out, and elements and paragraphs of large pages are limited. Nothing that a page names is fetched.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from urllib.parse import unquote

import lxml.etree
import lxml.html
from lxml.html import HtmlElement

MIN_WORDS = 10  #: a paragraph or list has more words than this; spec/lumos.md 5.2
TABLE_ROWS = 20
MAX_CHARACTERS = 4_000  #: of a paragraph, of the table
MAX_LINKS = 10
MAX_HTML = 8 * 2**20  #: characters of a page that are read
MAX_ELEMENTS = 150_000  #: of a page that are read
MAX_STEPS = 400_000  #: between elements while texts and links are read: nested elements are read more than once
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
    """Return the readable part of a page. Never raises because of the HTML.

    Parsing holds the interpreter for less than a second.
    """
    parser = lxml.html.HTMLParser(
        encoding="utf-8", remove_comments=True, remove_pis=True, no_network=True, huge_tree=False
    )
    try:
        data = html[:MAX_HTML].replace("\0", " ").encode("utf-8", "replace")
        root = lxml.html.document_fromstring(data, parser=parser)
    except (lxml.etree.LxmlError, ValueError):  # it contains no element
        return Article((), "", ())
    _shorten(root)
    for element in [node for node in root.iter() if _is_unread(node)]:
        if element.getparent() is not None:  # emptied, not removed: each removal would copy the text around it
            element.clear(keep_tail=True)
            element.tag = "span"
    steps = _Steps()
    paragraphs: list[str] = []
    for text in _texts(root, steps):
        if len(text.split()) > MIN_WORDS:
            paragraphs.append(text)
            if len(paragraphs) == max_paragraphs:
                break
    return Article(tuple(paragraphs), _table(root, steps), tuple(_links(root, steps)))


class _Steps:
    """Counts the visits of elements."""

    def __init__(self) -> None:
        self._remaining_steps = MAX_STEPS

    def take(self) -> bool:
        """Count another visit, and return whether it is within the limit of MAX_STEPS."""
        self._remaining_steps -= 1
        return self._remaining_steps >= 0


def _shorten(root: HtmlElement) -> None:
    """Remove everything after the first MAX_ELEMENTS elements."""
    element = next(islice(root.iter(), MAX_ELEMENTS, None), None)
    start = 0
    while element is not None and (parent := element.getparent()) is not None:
        del parent[parent.index(element) + start :]
        element, start = parent, 1


def _is_unread(element: HtmlElement) -> bool:
    return element.tag in _UNREAD or not _UNREAD_CLASSES.isdisjoint(element.get("class", "").split())


def _texts(root: HtmlElement, steps: _Steps) -> Iterator[str]:
    """Yield the text of each paragraph and of each outermost list."""
    lists = 0  # number of open lists
    for event, element in lxml.etree.iterwalk(root, events=("start", "end"), tag=("p", "ul", "ol")):
        is_list = element.tag != "p"
        if event == "start" and not (is_list and lists):
            yield _text(element, steps)
        if is_list:
            lists += 1 if event == "start" else -1


def _table(root: HtmlElement, steps: _Steps) -> str:
    table = next(root.iter("table"), None)
    if table is None:
        return ""
    rows: list[str] = []
    for row in table.iter("tr"):
        rows.append(" | ".join(filter(None, (_text(cell, steps) for cell in row if cell.tag in ("td", "th")))))
        if len(rows) == TABLE_ROWS:
            break
    return "; ".join(filter(None, rows))[:MAX_CHARACTERS]


def _links(root: HtmlElement, steps: _Steps) -> Iterator[str]:
    """Yield, for each list item, the title of the first article that it links to. No title is repeated."""
    titles: set[str] = set()
    for list_item in root.iter("li"):
        link = next(
            (anchor for anchor in list_item.iter("a") if not steps.take() or _title(anchor.get("href", ""))), None
        )
        title = "" if link is None else _title(link.get("href", ""))
        if title and title not in titles:
            titles.add(title)
            yield title
            if len(titles) == MAX_LINKS:
                return


def _title(address: str) -> str:
    """Return the title in the address of an article; '' for any other address."""
    name = unquote(address[len(_WIKI) :].partition("#")[0]) if address.startswith(_WIKI) else ""
    return "" if ":" in name else name.replace("_", " ").strip()


def _text(element: HtmlElement, steps: _Steps) -> str:
    """Return the first MAX_CHARACTERS of an element's text, with single blanks."""
    pieces: list[str] = []
    length = 0
    for piece in _pieces(element, steps):
        pieces.append(piece)
        length += len("".join(piece.split()))
        if length > MAX_CHARACTERS:
            break
    return " ".join("".join(pieces).split())[:MAX_CHARACTERS]


def _pieces(element: HtmlElement, steps: _Steps) -> Iterator[str]:
    """Yield the texts of an element in order. Blanks separate texts of different lines, so words are not joined."""
    for event, node in lxml.etree.iterwalk(element, events=("start", "end")):
        if not steps.take():
            return
        if node.tag in _BLOCKS:
            yield " "
        text = node.text if event == "start" else node.tail if node is not element else None
        if text:
            yield text
