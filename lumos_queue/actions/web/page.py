"""Read a recorded page as a tree of elements. lxml reads hostile, truncated or broken HTML, and nothing is run.

Mind2Web's `cleaned_html` is HTML in the form of XML: `<button …/>` is complete, and a text is a `<text>` element. In
HTML, such a button would contain everything after it. So a page is read as XML if it is well-formed up to its end,
where it may be truncated, and otherwise as HTML, whose parser accepts any text.
No entity is expanded, no document type is loaded, nothing is fetched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from lxml import etree, html

from lumos_queue.util.sanitize import storable

MAX_HTML = 32 * 2**20  #: characters of one page
MAX_ELEMENTS = 100_000  #: of one page that are read; later ones are ignored
NODE = "backend_node_id"  #: the attribute that names an element, as Chrome's developer tools number them
#: The attributes that describe the purpose of an element, the most informative first; others are left out.
SHOWN = (
    "role",
    "aria_role",
    "type",
    "alt",
    "aria_description",
    "aria_label",
    "label",
    "title",
    "name",
    "text_value",
    "value",
    "placeholder",
    "input_checked",
    "input_value",
    "option_selected",
    "class",
)
_SILENT = frozenset(("script", "style", "noscript", "template"))  #: elements whose content is not text of the page


@dataclass(slots=True, eq=False)
class Element:
    """An element of a page, with the attributes and texts that a description uses."""

    tag: str
    node: str  #: its number on the page, '' when it has none
    attributes: Mapping[str, str]  #: those in SHOWN
    parent: Element | None
    index: int = 0  #: among the parent's items
    items: list[Element | str] = field(default_factory=list)  #: elements and texts, in order
    texts: list[int] = field(default_factory=list)  #: the positions of the texts among the items
    way: tuple[str, str] | None = (
        None  #: the texts on the path to it: candidates.py caches them for the next candidate below it
    )


class HtmlPage:
    """The elements of a page by number and in document order."""

    def __init__(self, source: str):
        """Raises ValueError for a text longer than MAX_HTML. Any other text is a page, possibly an empty one."""
        if len(source) > MAX_HTML:
            raise ValueError(f"longer than {MAX_HTML} characters")
        self._by_node: dict[str, tuple[int, Element]] = {}
        root = _parse(storable(source)[0])
        if root is not None:
            for position, element in enumerate(_elements(root)):
                if element.node:
                    self._by_node.setdefault(element.node, (position, element))

    def element(self, node: str) -> Element | None:
        """Return the element with the number `node`, the first of several; None for an unknown number."""
        match = self._by_node.get(node)
        return match and match[1]

    def position(self, node: str) -> int | None:
        """Return the position of the element `node` in document order, from 0; None for an unknown number."""
        match = self._by_node.get(node)
        return match and match[0]


def _parse(source: str) -> etree._Element | None:
    """Return the root of the page, read as XML if possible, else as HTML; None if there is no element."""
    source = source[: source.rfind(">") + 1]  # a cut may leave half a tag
    if not source.strip():
        return None
    data = source.encode()
    if "<!ENTITY" not in source.upper():
        parser = etree.XMLParser(
            recover=True,
            resolve_entities=False,
            no_network=True,
            load_dtd=False,
            dtd_validation=False,
            huge_tree=True,
            remove_comments=True,
            remove_pis=True,
            encoding="utf-8",
        )
        root = etree.fromstring(data, parser)
        if root is not None and all(map(_harmless, parser.error_log)):
            return root
    parser = html.HTMLParser(
        recover=True, no_network=True, huge_tree=True, remove_comments=True, remove_pis=True, encoding="utf-8"
    )
    try:
        return html.document_fromstring(data, parser)
    except etree.ParserError:
        return None


def _harmless(error: etree._LogEntry) -> bool:
    """Return whether XML with this error can be read: its end is missing, or a prefix is not declared."""
    return error.type == etree.ErrorTypes.ERR_TAG_NOT_FINISHED or error.domain == etree.ErrorDomains.NAMESPACE


def _elements(root: etree._Element) -> Iterator[Element]:
    """Yield the first MAX_ELEMENTS elements in document order, linked to their parents and items.

    It does not recurse, because pages may be nested thousands deep.
    """
    current: Element | None = None
    for event, node in islice(etree.iterwalk(root, events=("start", "end")), 2 * MAX_ELEMENTS):
        if not isinstance(node.tag, str):  # an unexpanded entity
            continue
        tag = etree.QName(node).localname if node.tag.startswith("{") else node.tag
        if event == "end":
            if tag != "text" and current is not None:
                current = current.parent
            _add_text(current, node.tail)
        elif tag == "text":
            _add_text(current, node.text)
        else:
            attributes = {name: node.attrib[name] for name in SHOWN if name in node.attrib}
            current = Element(tag, node.get(NODE, ""), attributes, current)
            if current.parent:
                current.index = len(current.parent.items)
                current.parent.items.append(current)
            yield current
            _add_text(current, node.text)


def _add_text(element: Element | None, text: str | None) -> None:
    if element is not None and text and not text.isspace() and element.tag not in _SILENT:
        element.texts.append(len(element.items))
        element.items.append(text)
