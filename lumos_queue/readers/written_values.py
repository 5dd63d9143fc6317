"""Read nested values that a table has as text: JSON, or as Python and NumPy print them. Nothing is evaluated.

`datasets` and pandas write nested columns of a CSV file as Python prints them. Invented cells:

    {'title': array(['Ann', "Bob's"], dtype=object), 'sent_id': array([0, 2])}
    ['Ann died in 1800.' 'Bob was born in 1810.']

NumPy leaves out the middle of a list of more than 1,000 values, and rounds numbers with a point. Such a text is
refused, because the values cannot be restored. `[0.5]` is read, because Python also prints a list with one number so.
"""

from __future__ import annotations

import re
from typing import Any

from lumos_queue.util.untrusted_json import MAX_DEPTH, read_json

WAY_OUT = "export it with to_json or to_parquet"
_TOKEN = re.compile(
    r"""\s*+(?:
        (?P<text>b?'(?:[^'\\]|\\.)*+'|b?"(?:[^"\\]|\\.)*+")
        | (?P<mark>\.\.\.|array\(|[\[\]{}():,=])
        | (?P<word>[A-Za-z_][A-Za-z0-9_.]*+)
        | (?P<number>[+-]?[0-9][0-9.eE+-]*+|[+-]?\.[0-9][0-9eE+-]*+|-(?:inf|nan))
    )""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", "'": "'", '"': '"'}
_CONSTANTS = {"None": None, "True": True, "False": False}
_MAX_DIGITS = 400  #: of a number


def read_written(text: str) -> Any:
    """Return the list or object in a text. Raises ValueError with the reason."""
    try:
        return read_json(text)
    except ValueError:
        return _Parser(text).read()


class _Parser:
    """Reads one value, token by token."""

    def __init__(self, text: str):
        self._text, self._position = text, 0
        self._kind, self._token = "", ""
        self._advance()

    def read(self) -> Any:
        value = self._value(0)
        if self._kind:
            raise self._problem()
        return value

    def _advance(self) -> None:
        """Move to the next token; the kind is "" at the end."""
        match = _TOKEN.match(self._text, self._position)
        if match is None:
            self._kind, self._token = "", self._text[self._position :].strip()[:20]
            if self._token:
                raise self._problem()
            return
        self._kind, self._token, self._position = match.lastgroup or "", match[match.lastgroup or 0], match.end()

    def _take(self, mark: str) -> None:
        if not self._is_at(mark):
            raise self._problem()
        self._advance()

    def _problem(self) -> ValueError:
        position = f"'{self._token[:20]}'" if self._token else "its end"
        return ValueError(f"neither JSON nor a value as Python prints it, at {position}")

    def _value(self, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise ValueError(f"nested more than {MAX_DEPTH} levels deep")
        kind, token = self._kind, self._token
        if token == "..." and kind == "mark":
            raise _omission_error()
        if not (
            kind in ("text", "number") or token in ("[", "array(", "{") or (kind == "word" and token in _CONSTANTS)
        ):
            raise self._problem()
        self._advance()
        if kind == "text":
            return _read_text(token)
        if kind == "number":
            return _read_number(token)
        if kind == "word":
            return _CONSTANTS[token]
        return self._list(depth) if token == "[" else self._array(depth) if token == "array(" else self._object(depth)

    def _is_at(self, mark: str) -> bool:
        return self._kind == "mark" and self._token == mark

    def _list(self, depth: int) -> list[Any]:
        """Read the elements up to `]`. A list without commas is written by NumPy, which rounds numbers."""
        values: list[Any] = []
        commas = 0
        while not self._is_at("]"):
            values.append(self._value(depth + 1))
            if self._is_at(","):
                commas += 1
                self._advance()
        self._advance()
        if commas < len(values) - 1 and any(isinstance(value, float) for value in values):
            raise _rounding_error()
        return values

    def _array(self, depth: int) -> list[Any]:
        """Read the rest after `array(`: a list, and names with values such as `dtype=object`."""
        self._take("[")
        values = self._list(depth)
        if any(isinstance(value, float) for value in values):
            raise _rounding_error()
        while self._is_at(","):
            self._advance()
            if self._kind != "word":
                raise self._problem()
            if self._token == "shape":
                raise _omission_error()
            self._advance()
            self._take("=")
            if self._kind not in ("word", "text"):
                raise self._problem()
            self._advance()
        self._take(")")
        return values

    def _object(self, depth: int) -> dict[str, Any]:
        values: dict[str, Any] = {}
        while not self._is_at("}"):
            key = self._value(depth + 1)
            if not isinstance(key, str):
                raise ValueError("an object with a name that is no text")
            self._take(":")
            values[key] = self._value(depth + 1)
            if not self._is_at("}"):
                self._take(",")
        self._advance()
        return values


def _omission_error() -> ValueError:
    return ValueError(f"the middle of a long list was left out when it was written: {WAY_OUT}")


def _rounding_error() -> ValueError:
    return ValueError(f"the numbers of a list were rounded when it was written: {WAY_OUT}")


def _read_text(token: str) -> str | bytes:
    is_bytes = token[0] == "b"
    content = token[2:-1] if is_bytes else token[1:-1]
    text = _ESCAPE.sub(_unescape, content) if "\\" in content else content
    try:
        return text.encode("latin-1") if is_bytes else text
    except UnicodeEncodeError:
        raise ValueError("bytes with a character that is none") from None


def _unescape(escape: re.Match[str]) -> str:
    letter = escape[1]
    if len(letter) > 1:
        code = int(letter[1:], 16)
        if code > 0x10FFFF:
            raise ValueError("an escape that is no character")
        return chr(code)
    return _ESCAPED.get(letter, escape[0])


def _read_number(token: str) -> int | float:
    if len(token) > _MAX_DIGITS:
        raise ValueError(f"a number of more than {_MAX_DIGITS} digits")
    try:
        return int(token)
    except ValueError:
        try:
            return float(token)
        except ValueError:
            raise ValueError(f"'{token[:20]}' is no number") from None
