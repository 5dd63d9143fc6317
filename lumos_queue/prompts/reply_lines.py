"""Read the lines of a Markdown reply, without the marks that instruct models write around LUMOS's notation.

Reading never raises and takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_MARK = re.compile(
    r"[ \t]*+(?:>|#{1,6}(?=[ \t])|[-+•–*](?=[ \t])|\[[ xX]\](?=[ \t])|[*_]{0,2}\(?([0-9]{1,3})[.)][*_]{0,2}(?=[ \t]))"
)
_RULE = re.compile(r"[-*_=~ \t]++")
#: Emphasis begins before a word and ends behind one; the stars of `2 * 3` and `x**2` are signs.
_EMPHASIS = re.compile(r"(?<![\w)\]*])\*{1,3}(?=[^\s*])|(?<=[^\s*])\*{1,3}(?![\w(*])")
_FENCE = re.compile(r"(?:`{3,}|~{3,})[ \t]*+([A-Za-z0-9_+.#-]*)[ \t]*+")
_FENCES = ("```", "~~~")
_STEP = re.compile(r"[*_]{0,3}step[ \t]{0,3}#?([0-9]{1,3})[*_]{0,3}[ \t]{0,3}[:：.)–-][*_]{0,3}[ \t]*+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ReplyLine:
    """A line of a reply, with what its marks say about it."""

    body: str  #: without the marks of lists, headings and quotations in front
    text: str  #: the body without emphasis; '' of a blank line
    indent: int = 0  #: characters
    number: int = 0  #: as an item of a numbered list; 0: it is none
    is_item: bool = False  #: of any list
    is_heading: bool = False
    fence: int = 0  #: the number of the code fence that it is in; 0: none
    written: str = ""  #: with the marks, without blanks around it


def read_lines(reply: str) -> Iterator[ReplyLine]:
    """Yield the lines of a reply, without those that open or close a code fence. A horizontal rule is a blank line."""
    fences, in_fence = 0, False
    for text_line in reply.splitlines():
        line = text_line.strip()
        if line.startswith(_FENCES):
            content = line[3:].removesuffix(line[:3]).strip() if len(line) > 6 and line.endswith(line[:3]) else ""
            if content:  # a fence of one line
                fences += 1
                yield ReplyLine(content, content, fence=fences, written=content)
                continue
            info = _FENCE.fullmatch(line)
            fences, in_fence = fences + (not in_fence), not in_fence
            if not info:
                content = line[3:].strip()
                yield ReplyLine(content, content, fence=fences if in_fence else 0, written=content)
            continue
        if in_fence:
            ends = line.endswith(_FENCES)
            content = line[:-3].rstrip() if ends else line
            yield ReplyLine(content, content, len(text_line) - len(text_line.lstrip()), fence=fences, written=content)
            in_fence = not ends
            continue
        yield _read_line(text_line)


def _read_line(text_line: str) -> ReplyLine:
    indent = len(text_line) - len(text_line.lstrip())
    position = number = 0
    is_item = is_heading = False
    while mark := _MARK.match(text_line, position):
        position = mark.end()
        is_item = is_item or (mark[0].strip() != ">" and "#" not in mark[0])
        is_heading = is_heading or "#" in mark[0]
        number = number or int(mark[1] or 0)
    body, whole = _unescape(text_line[position:].strip()), _unescape(text_line.strip())
    if _RULE.fullmatch(body):
        return ReplyLine("", "")
    if step := _STEP.match(body):
        number, is_item, body = int(step[1]), True, body[step.end() :]
    text = remove_emphasis(body)
    return ReplyLine(body, text, indent, number, is_item, is_heading, written=whole)


def _unescape(text: str) -> str:
    return text.replace("\\*", "*").replace("\\_", "_")


def remove_emphasis(text: str) -> str:
    """Return the text without the asterisks of bold and italic text."""
    return _EMPHASIS.sub("", text) if "*" in text else text


def put_on_one_line(text: str) -> str:
    return " ".join(text.split())
