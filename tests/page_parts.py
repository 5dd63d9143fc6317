"""Parts of a page as a browser would see them: for tests of pages and charts."""

from __future__ import annotations

import base64
import hashlib
import re

from lxml import etree, html

#: Texts of users, models and files that a page must display as text.
HOSTILE = (
    "<script>window.pwned = 1</script>",
    "<img src=x onerror=alert(1)>",
    "</style></title></textarea></pre><b>bold",
    "![pixel](https://evil.example/x.png) [x](javascript:alert(1)) <https://evil.example>",
    "a | b || c",
    "`code` ```\nfence\n``` ~~~",
    "# head\n- list\n1. one\n> quote\n---\n***\n===\n| a |\n| - |",
    "\x1b[31mred\x1b[0m\x07 \u202eright to left\u202c",
    "$x$ &amp; &lt;i&gt; *em* _em_ ~~gone~~ www.evil.example http://evil.example a@evil.example",
    "[ref]: https://evil.example 'x'",
    "%0A{{ 7 * 7 }}{% raw %}${7*7}",
)
ALLOWED_SOURCES = ("data:", "#")


def parse_page(text: str) -> etree._Element:
    return html.document_fromstring(text)


def policy_of(page: etree._Element) -> dict[str, str]:
    """Return the values of each directive of the page's own policy."""
    (content,) = page.xpath("//head/meta[@http-equiv='Content-Security-Policy']/@content")
    return {part.split()[0]: " ".join(part.split()[1:]) for part in content.split(";") if part.strip()}


def require_harmless(text: str) -> etree._Element:
    """Return the parsed page. Raises AssertionError if anything in it runs or is loaded."""
    page = parse_page(text)
    assert not page.xpath("//script | //iframe | //object | //embed | //form | //link | //base | //foreignobject")
    for element in page.iter(etree.Element):
        for name, value in element.attrib.items():
            assert not name.lower().startswith("on"), f"{element.tag} {name}"
            assert name.lower() != "style", f"{element.tag} has a style of its own"
            if name.lower() in ("src", "href", "xlink:href", "srcset", "action", "poster"):
                assert value.startswith(ALLOWED_SOURCES), value
    (style,) = page.xpath("//style")
    digest = base64.b64encode(hashlib.sha256(style.text.encode()).digest()).decode()
    policy = policy_of(page)
    assert policy["default-src"] == "'none'"
    assert policy["style-src"] == f"'sha256-{digest}'"
    assert policy["img-src"] == "data:"
    assert not re.search(r"url\(|@import|expression", style.text)
    assert len(set(page.xpath("//@id"))) == len(page.xpath("//@id")), "an id is given twice"
    return page


def table_rows(table: etree._Element) -> list[list[str]]:
    return [[cell.text_content() for cell in row.xpath("./th | ./td")] for row in table.xpath(".//tr")]


def read_numbers(svg: etree._Element, path: str, name: str) -> list[float]:
    """Return an attribute in per cent of all elements at the path."""
    return [float(node.get(name).removesuffix("%")) for node in svg.iterfind(path)]
