"""Markdown pages: whatever is in a text, GitHub's own parser makes nothing but that text of it."""

from __future__ import annotations

import html
import re

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options
from hypothesis import given
from hypothesis import strategies as st
from lxml import html as parsed

from lumos_queue.pages.blocks import Document, Episodes, Section, Table, Text
from lumos_queue.pages.markdown import code, escape, render_markdown
from lumos_queue.pages.trajectories import ShownCall, ShownEpisode, ShownPicture
from lumos_queue.util.display import harmless
from tests.page_parts import HOSTILE

#: What the parser makes of a page with no text from outside: GitHub takes raw HTML of these, and so do we.
OWN = {
    "html",
    "body",
    "div",
    "h1",
    "h2",
    "h3",
    "p",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "ul",
    "li",
    "em",
    "strong",
    "blockquote",
    "pre",
    "code",
    "details",
    "summary",
    "br",
    "span",
}


def render(text: str):
    found = cmarkgfm.github_flavored_markdown_to_html(text, options=Options.CMARK_OPT_UNSAFE)
    return parsed.fromstring(f"<div>{found}</div>")


def words(text: str) -> str:
    """The text without spaces, which Markdown may move."""
    return re.sub(r"\s+", "", harmless(text.replace("\r", "\n")))


@pytest.mark.parametrize("text", HOSTILE)
def test_text_in_a_line_is_that_text(text):
    page = render(f"before {escape(text)} after")
    assert {one.tag for one in page.iter()} <= {"div", "p", "br", "span"}
    for line in page.iter("br"):
        line.tail = f"\n{line.tail or ''}"
    assert words(page.text_content()) == words(f"before {text} after")


@pytest.mark.parametrize("text", HOSTILE)
def test_text_that_begins_a_paragraph_begins_nothing_else(text):
    assert [one.tag for one in render(escape(text)).iterchildren()] == ["p"]


@given(st.text(st.sampled_from("\\`*_[]()<>!|~$&#-+=.:1a @\n\t\"'/x"), max_size=40))
def test_no_text_escapes_from_a_cell(text):
    page = render(f"| a | b |\n| --- | --- |\n| x{escape(text)} | end |")
    ((first, last),) = [row.findall("td") for row in page.iter("tr") if row.findall("td")]
    assert last.text_content() == "end"
    for line in first.iter("br"):
        line.tail = f"\n{line.tail or ''}"
    assert words(first.text_content()) == words(f"x{text}")


@given(st.text(st.sampled_from("`~ \na<"), max_size=60))
def test_no_text_ends_a_code_block(text):
    (block,) = render(code(text)).iterchildren()
    assert block.tag == "pre"
    assert block.text_content().removesuffix("\n") == text.rstrip("\r")


@pytest.mark.parametrize("text", HOSTILE)
def test_a_page_of_hostile_texts_holds_only_what_pages_are_made_of(text):
    shown = ShownEpisode(
        name=text,
        title=text,
        facts=[(text, text)],
        question=text,
        heads=(text, text, text),
        rows=[[[(text, "dim")], [(text, "")], [(text, "bold"), (" ", "")]]],
        calls=[ShownCall("0", text, text, text, text)],
        pictures=[ShownPicture(text, "")],
        notes=[text],
    )
    blocks = [Text(text, warns=True), Table(text, [text, text], [[text, text]], text), Episodes([shown])]
    folded = Table(text, [text], [[text]], folded=True)
    page = render(render_markdown(Document(text, [folded], [Section("s", text, blocks)], text, [text])))
    assert {one.tag for one in page.iter()} <= OWN
    assert not [one for one in page.iter() for name in one.attrib if name not in ("align", "lang")]
    assert len(page.findall(".//table")) == 3
    assert all(len(row) == len(table[0][0]) for table in page.iter("table") for row in table.iter("tr"))


def test_an_entity_is_what_was_written():
    assert html.unescape(render(escape("&lt;b&gt; &#42;")).text_content()).strip() == html.unescape("&lt;b&gt; &#42;")
