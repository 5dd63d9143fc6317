"""Convert wikitext to plain paragraphs, in a few passes of linear time.

Existing parsers are not linear: mwparserfromhell 0.7.2 takes 160 seconds for 150 kB of tables that never end, and as
long for such links, and blocks all other threads meanwhile. Tables, notes and templates are dropped, except
`{{convert|330|m}}` and the first infobox, which gives facts.
"""

from __future__ import annotations

import re
from html import unescape

MIN_WORDS = 5  #: of a paragraph worth keeping
MAX_FACTS = 4_000  #: characters of an infobox
MAX_NESTED = 20  #: links within links

_COMMENT = re.compile(r"(<!--)|-->")
_TABLE = re.compile(r"^[ :]*(\{\|)|^[ ]*\|\}(?!\})", re.MULTILINE)
_NOTE = re.compile(r"(<(?:ref|gallery|math)(?:\s[^<>/]*)?>)|</(?:ref|gallery|math)\s*>", re.IGNORECASE)
_TEMPLATE = re.compile(r"(\{\{)|\}\}")
_BRACKETS = re.compile(r"\[\[|\]\]")
_CONVERT = re.compile(r"\{\{(?:convert|cvt)\|([0-9.,]{1,20})\|([^|{}]{1,30})[^{}]{0,200}\}\}", re.IGNORECASE)
_INFOBOX = re.compile(r"\{\{\s*infobox", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]{1,300}>")
_ADDRESS = re.compile(r"\[(?:[a-z]{3,6}:)?//[^\s\[\]]{1,2000}+ *+([^\[\]\n]{0,300}+)\]", re.IGNORECASE)
_NOT_PROSE = re.compile(r"\s*+(?::\s*+)?(?:file|image|category|media)\s*:", re.IGNORECASE)
_HEADING = re.compile(r"^=[^\n]{1,300}=[ \t]*$", re.MULTILINE)
_SWITCH = re.compile(r"__[A-Z]{3,20}__")
_QUOTES = re.compile("'{2,5}")
_ITEM = re.compile(r"\n[*#:;]+ *")
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*+\n)++")


def paragraphs_of(text: str) -> list[str]:
    """Return the paragraphs and the items of lists, without markup, headings and texts below MIN_WORDS words."""
    text = _ITEM.sub("\n\n", _HEADING.sub("\n\n", _without(_noteless(text), _TEMPLATE)))
    paragraphs = (" ".join(_readable(part).split()) for part in _BLANK_LINES.split(text))
    return [paragraph for paragraph in paragraphs if len(paragraph.split()) >= MIN_WORDS]


def facts_of(text: str) -> str:
    """Return the fields of the first infobox, such as `born: 1900; died: 1980`; '' without a complete infobox."""
    text = _noteless(text)
    start = _INFOBOX.search(text)
    if start is None:
        return ""
    depth = 0
    for mark in _TEMPLATE.finditer(text, start.start()):
        depth += 1 if mark[1] else -1
        if not depth:
            return _pairs(text[start.end() : mark.start()])
    return ""


def _pairs(box: str) -> str:
    """Return an infobox's fields (`| name = value`) as text. A `|` within a link does not separate fields."""
    lines = _readable(_without(box, _TEMPLATE)).split("\n|")
    pairs = (line.partition("=") for line in lines)
    facts = (f"{name.strip(' |')}: {' '.join(value.split())}" for name, _, value in pairs if value.strip())
    return "; ".join(facts)[:MAX_FACTS]


def _noteless(text: str) -> str:
    """Remove comments, tables, notes, tags and addresses."""
    for mark in (_COMMENT, _TABLE, _NOTE):
        text = _without(text, mark)
    return _CONVERT.sub(r"\1 \2", _ADDRESS.sub(r"\1", _TAG.sub(" ", text)))


def _readable(text: str) -> str:
    """Replace links by their words, remove quotes for italics, decode entities."""
    text = _QUOTES.sub("", _SWITCH.sub("", _linkless(text)))
    try:
        return unescape(text)
    except ValueError:  # a reference to a character by a number of thousands of digits
        return text


def _without(text: str, mark: re.Pattern[str]) -> str:
    """Remove the text between opening and closing marks, which may be nested. Only opening marks have a group 1.

    If a mark is never closed, all text after it is removed.
    """
    parts, depth, start = [], 0, 0
    for match in mark.finditer(text):
        if match[1]:
            if not depth:
                parts.append(text[start : match.start()])
            depth += 1
        elif depth:
            depth -= 1
            start = match.end()
    return "".join(parts) + ("" if depth else text[start:])


def _linkless(text: str) -> str:
    """Replace `[[page|words]]` by `words`, and remove pictures and categories with the links in their captions."""
    open_links: list[list[str]] = [[]]
    start = 0
    for mark in _BRACKETS.finditer(text):
        open_links[-1].append(text[start : mark.start()])
        start = mark.end()
        if mark[0] == "[[" and len(open_links) <= MAX_NESTED:
            open_links.append([])
        elif mark[0] == "]]" and len(open_links) > 1:
            link = "".join(open_links.pop())
            open_links[-1].append("" if _NOT_PROSE.match(link) else link.rpartition("|")[2])
    open_links[-1].append(text[start:])
    return "".join(part for parts in open_links for part in parts)
