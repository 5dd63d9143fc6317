"""Pages in the form that corpora, the live Wikipedia tool and values share: `title`, `paragraphs`, `table`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lumos_queue.errors import ActionError

MAX_TITLE = 300  #: characters
MAX_PARAGRAPH = 8_000  #: characters; longer paragraphs are cut
MAX_PAGE = 20_000  #: characters of one page's paragraphs that a value holds


@dataclass(frozen=True, slots=True)
class TextPage:
    """A title and the text under it."""

    title: str
    paragraphs: Sequence[str]
    table: str = ""  #: a table of facts on the page, as text


def page_of(value: object) -> TextPage:
    """Return the page of a JSON value from a tool or a recording. Raises ActionError if the value is no page."""
    if not isinstance(value, Mapping) or not isinstance(value.get("title"), str):
        raise ActionError("bad_reply", "expected a page with a title and paragraphs")
    paragraphs = [text for text in value.get("paragraphs") or () if isinstance(text, str)]
    table = value.get("table")
    table_text = tidy(table) if isinstance(table, str) else ""
    return TextPage(tidy(value["title"])[:MAX_TITLE], tidy_paragraphs(paragraphs), table_text)


def pages_value(pages: Iterable[TextPage]) -> dict[str, Any]:
    """Return the value of a KnowledgeQuery. Its text names the pages, as the LUMOS annotations do."""
    pages_json = [_cut_page(page) for page in pages]
    text = ", ".join(f"WikipediaPage({page['title']})" for page in pages_json)
    return {"kind": "pages", "text": text, "pages": pages_json}


def tidy(text: str) -> str:
    """Return the text on one line, cut at MAX_PARAGRAPH."""
    return " ".join(text[: 2 * MAX_PARAGRAPH].split())[:MAX_PARAGRAPH]


def tidy_paragraphs(paragraphs: Iterable[str]) -> list[str]:
    """Return the paragraphs, each on one line, without empty ones."""
    return [text for paragraph in paragraphs if (text := tidy(paragraph))]


def _cut_page(page: TextPage) -> dict[str, Any]:
    paragraphs, room = [], MAX_PAGE
    for paragraph in page.paragraphs:
        room -= len(paragraph)
        if room < 0 and paragraphs:
            break
        paragraphs.append(paragraph)
    content: dict[str, Any] = {"title": page.title, "paragraphs": paragraphs}
    return {**content, "table": page.table} if page.table else content
