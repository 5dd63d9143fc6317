"""Convert a reply with LaTeX, Markdown and HTML to plain text.

Spans retain which parts were marked: the contents of `\\boxed{…}` and `<answer>…</answer>` are boxes, the contents of
`**…**` and `<b>…</b>` are bold. Reading never raises and takes linear time. Unknown mark-up stays as it is written.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

#: Characters of a reply that are read: the last ones.
MAX_REPLY = 200_000

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class PlainReply:
    """The text of a reply, and the spans in it that were marked."""

    text: str
    boxes: tuple[Span, ...] = ()  #: complete ones, the outermost, in order
    bold: tuple[Span, ...] = ()


class _Characters(dict[int, str | None]):
    """The table of `plain_characters`, filled as characters occur."""

    def __missing__(self, code: int) -> str | None:
        plain = self[code] = _plain_character(chr(code))
        return plain


def _plain_character(character: str) -> str | None:
    """Return a digit of any script as ASCII, a full-width character as narrow; None for an invisible character."""
    if character in "\n\t" or " " <= character <= "~":
        return character
    if character in "\u00a0\u202f\u2009\u2007\u3000":
        return " "
    if character in "\u2028\u2029\r\v\f\x85":
        return "\n"
    category = unicodedata.category(character)
    if category in ("Cf", "Cc", "Cs") or "\ufe00" <= character <= "\ufe0f":
        return None
    if category == "Nd":
        return str(unicodedata.digit(character))
    return chr(ord(character) - 0xFEE0) if "！" <= character <= "～" else character


_CHARACTERS = _Characters()

#: Between digits: `9{,}500`, `9\,500` and `9 500` with narrow or hard spaces.
_GROUPED = re.compile(r"(?<=[0-9])(?:\{,\}|\\[,!;:]|[\u00a0\u202f\u2009\u2007])(?=[0-9]{3}(?![0-9]))")
_DECIMAL = re.compile(r"(?<=[0-9])\{\.\}(?=[0-9])")
_SHORT_FRACTION = re.compile(r"\\[dt]?frac[ ]?([0-9])[ ]?([0-9])")
_FENCE = re.compile(r"^[ \t]{0,8}(?:```|~~~)[\w+-]{0,20}[ \t]{0,8}$\n?", re.MULTILINE)
_TAGS = "b|strong|i|em|u|s|mark|code|pre|p|div|span|br|center|font|sup|sub|small|big|tt|li|ul|ol|h[1-6]|answer"
_TOKEN = re.compile(
    r"\\[A-Za-z]+\*?[ ]?|\\.|\^?\{|\}|\*\*|__"
    rf"|</?(?:{_TAGS})(?:\s[^<>]{{0,200}})?/?>|\n",
    re.IGNORECASE | re.DOTALL,
)
_ITALIC = re.compile(r"(?<![\w*\\])[*_](?=[^\s*_])|(?<=[^\s*_])[*_](?![\w*])|`")

_STYLES = "bf|it|rm|sf|tt"
_WRAPPER = re.compile(
    rf"(?:text|math)(?:{_STYLES}|normal|bb|cal|op)?|[mh]box|operatorname|emph|underline|bm|boldsymbol|ensuremath"
)
_BOXES = frozenset(("boxed", "fbox", "framebox"))
_FRACTIONS = frozenset(("frac", "dfrac", "tfrac", "cfrac"))
_SYMBOLS = {
    "times": "*",
    "cdot": "*",
    "ast": "*",
    "div": "/",
    "approx": "≈",
    "simeq": "≈",
    "sim": "~",
    "pm": "±",
    "circ": "°",
    "degree": "°",
    "percent": "%",
    "equals": "=",
    "rightarrow": "→",
    "to": "→",
    "implies": "→",
    "Rightarrow": "→",
    "Longrightarrow": "→",
    "longrightarrow": "→",
    "le": "≤",
    "leq": "≤",
    "ge": "≥",
    "geq": "≥",
    "neq": "≠",
    "ne": "≠",
    "ldots": "…",
    "dots": "…",
    "cdots": "…",
    "pounds": "£",
    "euro": "€",
    "textdollar": "$",
    "dollar": "$",
}
_EMPTY = re.compile(
    rf"left|right|[bB]igg?|displaystyle|textstyle|q?quad|therefore|because|hfill|{_STYLES}|[Ll]arge|[hH]uge|centering"
)
_ENVIRONMENTS = frozenset(("begin", "end", "tag", "label"))


def plain_characters(text: str) -> str:
    """Return the text without invisible characters; digits of all scripts and full-width characters become ASCII."""
    return text.translate(_CHARACTERS)


def plain_reply(reply: str) -> PlainReply:
    """Return the last MAX_REPLY characters of a reply without mark-up, and the boxed and bold spans."""
    text = plain_characters(_GROUPED.sub("", reply[-MAX_REPLY:]))
    text = _GROUPED.sub("", _DECIMAL.sub(".", text))
    return _Reader(_SHORT_FRACTION.sub(r" \1/\2 ", _FENCE.sub("", text))).read()


class _Reader:
    """Reads a text once. `_open_braces` has the kind of each open brace and its start."""

    def __init__(self, text: str):
        self._text = text
        self._pieces: list[str] = []
        self._length = 0
        self._open_marks: list[tuple[str, int]] = []
        self._next = ""  #: what the next brace opens, if it follows at once
        self._bold: int | None = None
        self._tag: int | None = None
        self._boxes: list[Span] = []
        self._bolds: list[Span] = []
        self._skip: int | None = None  #: where the name of an environment begins, which is no text

    def read(self) -> PlainReply:
        position = 0
        for token in _TOKEN.finditer(self._text):
            if between := self._text[position : token.start()]:
                if between.strip():
                    self._next = ""
                self._add(_ITALIC.sub("", between))
            self._take(token[0])
            position = token.end()
        self._add(_ITALIC.sub("", self._text[position:]))
        return PlainReply("".join(self._pieces), tuple(self._outermost()), tuple(self._bolds))

    def _outermost(self) -> list[Span]:
        spans: list[Span] = []
        for start, end in sorted(self._boxes, key=lambda span: (span[0], -span[1])):
            if not spans or start >= spans[-1][1]:
                spans.append((start, end))
        return spans

    def _add(self, text: str) -> None:
        if self._skip is None and text:
            self._pieces.append(text)
            self._length += len(text)

    def _take(self, token: str) -> None:
        opens, self._next = self._next, ""
        if token == "\n":
            self._bold = None
            self._add(token)
        elif token[0] == "\\":
            self._command(token)
        elif token in ("{", "^{"):
            self._open(token, opens)
        elif token == "}":
            self._close()
        elif token[0] == "<":
            self._read_tag(token.lower())
        else:
            self._toggle_bold()

    def _command(self, token: str) -> None:
        name = token[1:].rstrip(" *")
        if not name or not name[0].isalpha():
            self._add(" " if token[1] in "()[],;:! " else "\n" if token[1] == "\\" else token[1])
        elif name in _BOXES:
            self._next = "box"
        elif name in _FRACTIONS:
            self._next = "fraction"
        elif _WRAPPER.fullmatch(name):
            self._next = "wrapper"
        elif name in _ENVIRONMENTS:
            self._next = "environment"
        elif name in _SYMBOLS:
            self._add(_SYMBOLS[name])
        else:
            self._add(" " if _EMPTY.fullmatch(name) else token)

    def _open(self, token: str, opens: str) -> None:
        if opens == "environment" and self._skip is None:
            self._skip = len(self._open_marks)
        if not opens:
            self._add("^" if token == "^{" else token)
            opens = "power" if token == "^{" else "brace"
        elif opens == "fraction":
            self._add(" ")
        self._open_marks.append((opens, self._length))

    def _close(self) -> None:
        if not self._open_marks:
            self._add("}")
            return
        mark, start = self._open_marks.pop()
        if self._skip == len(self._open_marks):
            self._skip = None
        if mark == "box":
            self._boxes.append((start, self._length))
        elif mark == "fraction":
            self._add("/")
            self._next = "denominator"
        elif mark == "brace":
            self._add("}")

    def _read_tag(self, tag: str) -> None:
        name, closes = tag.strip("</> ").split()[0].rstrip("/"), tag.startswith("</")
        if name == "answer":
            if closes and self._tag is not None:
                self._boxes.append((self._tag, self._length))
            self._tag = None if closes else self._length
        elif name in ("b", "strong"):
            self._toggle_bold()
        elif name in ("br", "p", "div", "li"):
            self._add("\n")

    def _toggle_bold(self) -> None:
        if self._bold is None:
            self._bold = self._length
        else:
            self._bolds.append((self._bold, self._length))
            self._bold = None
