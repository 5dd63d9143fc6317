"""Describe the elements of a page that an action may select, as in the training data of MindAct's ranking model.

    ancestors: /html/form search/ul
    target: (button id=0 submit (span Search ) )

A description has the element's ancestors, its nearest three siblings on either side and the first fifty items below it,
at most six levels deep. Elements without words and branches are left out. Each element has up to 20 words of its
attributes, each text up to 20 words. Parentheses show the nesting; before the target they are `/`.
Source: candidate generation of MindAct (OSU-NLP-Group/Mind2Web, README and paper, section 3.1 and appendix C).
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from lumos_queue.actions.web.page import SHOWN, Element, HtmlPage

MAX_ANCESTOR_WORDS, MAX_TARGET_WORDS = 50, 100
MAX_CHARACTERS = 4_000  #: of either part: a page may have words without end
_SIBLINGS, _LEVELS, _ITEMS = 3, 6, 50
_WORDS, _VALUE_WORDS, _WORD_CHARACTERS = 20, 5, 15
_SAYS_NOTHING = frozenset(("hidden", "none", "presentation", "null", "undefined"))


def document_order(page: HtmlPage, nodes: Mapping[str, object]) -> list[str]:
    """Return the numbers of candidates (`nodes`) in the order of the page, whatever order `nodes` has.

    Elements that are missing in the page's text come last, by number: a text may be truncated at its end, and browsers
    mostly number elements in document order.
    """

    def key(node: str) -> tuple[int, int]:
        position = page.position(node)
        return (1, int(node)) if position is None else (0, position)

    return sorted(sorted(nodes), key=key)


def describe(page: HtmlPage, node: str, tag: str, attributes: Mapping[str, str]) -> str:
    """Return an element's description for a ranking model. `tag` and `attributes` are used if the page lacks it."""
    element = page.element(node)
    if element is None:
        element = Element(tag, node, {name: attributes[name] for name in SHOWN if name in attributes}, None)
    target = " ".join(_write(element, _below(element), mark=True).split()[:MAX_TARGET_WORDS])
    return f"ancestors: {_ancestors(element)[-MAX_CHARACTERS:]}\ntarget: {target[:MAX_CHARACTERS]}"


def parts(description: str) -> tuple[str, str]:
    """Return the two lines of a description, ancestors and target, without their labels."""
    ancestors, _, target = description.partition("\ntarget: ")
    return ancestors.removeprefix("ancestors: "), target


def _write(element: Element, content: str, mark: bool = False) -> str:
    pieces = (element.tag, "id=0" if mark else "", _words(element), content)
    return f"({' '.join(filter(None, pieces))} )"


def _words(element: Element) -> str:
    """Return the words of an element's attributes. A value that several attributes have appears once."""
    values = {}
    for name in SHOWN:
        value = element.attributes.get(name, "").lower()
        if value not in _SAYS_NOTHING and not value.startswith("http"):
            words = [word for word in value.split() if len(word) < _WORD_CHARACTERS]
            values[_plain(" ".join(words[:_VALUE_WORDS]))] = None
    return " ".join(" ".join(filter(None, values)).split()[:_WORDS])


def _plain(text: str) -> str:
    return text.replace('"', " ")


def _text(text: str) -> str:
    return _plain(" ".join(text.lstrip()[:MAX_CHARACTERS].split()[:_WORDS]))


def _below(element: Element) -> str:
    """Return the text of the items below a candidate."""
    retained_ids = {id(item) for item in islice(_preorder(element, _LEVELS), _ITEMS)}

    def inside(parent: Element) -> list[str]:
        """Return the texts of an element and of its retained children that have words."""
        texts: list[str] = []
        for item in parent.items:
            if isinstance(item, str):
                texts.append(_text(item))
            elif id(item) in retained_ids:
                content = inside(item)
                has_content = item.attributes or item.texts or len(content) > 1
                texts += [_write(item, " ".join(content))] if has_content else content
            if len(texts) > MAX_TARGET_WORDS:
                break
        return texts

    return " ".join(inside(element))


def _preorder(element: Element, levels: int) -> Iterator[Element | str]:
    """Yield the items in the first `levels` levels below an element, in document order."""
    for item in element.items:
        yield item
        if isinstance(item, Element) and levels > 1:
            yield from _preorder(item, levels - 1)


def _ancestors(element: Element) -> str:
    """Return the last words of the path to a candidate, with the texts on the path and the candidate's neighbours."""
    if element.parent is None:
        return ""
    text = _end(_beside(element, _neighbours(element), _way(element.parent)))
    return " ".join(text.replace("(", "/").replace(")", "").split()[-MAX_ANCESTOR_WORDS:])


def _way(element: Element) -> tuple[str, str]:
    """Return the path to an element: the texts before and after it. They are cached in the elements of the path."""
    ancestors, current = [], element
    while current.way is None and current.parent is not None:
        ancestors.append(current)
        current = current.parent
    way = current.way or ("", "")
    for current in reversed(ancestors):
        way = current.way = _beside(current, {}, way)
    return way


def _beside(element: Element, around: dict[int, str], way: tuple[str, str]) -> tuple[str, str]:
    """Return the path to an element. `way`: the path to its parent. `around`: texts beside the element, by position."""
    parent = element.parent
    assert parent is not None
    around |= {position: _text(str(parent.items[position])) for position in _texts_around(element)}
    before = [around[position] for position in sorted(around) if position < element.index]
    after = [around[position] for position in sorted(around) if position > element.index]
    if around or parent.attributes or parent.parent is None:
        before.insert(0, f"({parent.tag} {_words(parent)}")
        after.append(")")
    return _end([way[0], *before]), _end([*after, way[1]])


def _end(pieces: Sequence[str]) -> str:
    """Return the last words of a text: one more than a description has, because the first word may be truncated."""
    texts, length = [""], 0
    for piece in reversed(pieces):
        texts.append(_short(piece))
        length += len(texts[-1])
        if length > 3 * MAX_CHARACTERS:
            break
    words = _short(" ".join(reversed(texts))).split()
    return " ".join(words[-MAX_ANCESTOR_WORDS - 1 :])[-2 * MAX_CHARACTERS :]


def _short(text: str) -> str:
    """Return a text with single spaces, without spaces beside parentheses and without repeated `)`."""
    text = re.sub(r" ?\( ?", "(", " ".join(text.split()))
    return re.sub(r" ?\)[ )]*", ")", text)


def _neighbours(element: Element) -> dict[int, str]:
    """Return the descriptions of the nearest siblings that have words, by position."""
    assert element.parent is not None
    items, neighbours = element.parent.items, {}
    for positions in (range(element.index - 1, -1, -1), range(element.index + 1, len(items))):
        siblings = (items[position] for position in positions)
        for sibling in islice((sibling for sibling in siblings if isinstance(sibling, Element)), _SIBLINGS):
            if sibling.attributes or sibling.texts:
                texts = (_text(str(sibling.items[position])) for position in sibling.texts[:MAX_ANCESTOR_WORDS])
                neighbours[sibling.index] = _write(sibling, " ".join(texts))
    return neighbours


def _texts_around(element: Element) -> list[int]:
    """Return the positions of texts beside an element, at most as many on a side as a description has words."""
    assert element.parent is not None
    texts = element.parent.texts
    middle = bisect(texts, element.index)
    before = texts[max(0, middle - MAX_ANCESTOR_WORDS) : middle]
    return before + texts[max(middle, len(texts) - MAX_ANCESTOR_WORDS) :]
