"""Complete JSON text that was cut off at some length, so that it can be read up to the cut.

{"a": [1, {"b": "tex        -> {"a": [1, {"b": "tex"}]}
{"a": [1, {"b"              -> {"a": [1, {"b": null}]}
{"a": 1.5, "b": tr          -> {"a": 1.5, "b": true}
"""

from __future__ import annotations

import re

#: A string, which may be cut; a literal or number; a sign; white space.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|[^\s"{}\[\],:]+|[{}\[\],:]|\s+', re.DOTALL)
_HALF_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")
_CUT_EXPONENT = re.compile(r"(?<=[0-9])[eE]([+-]?)([0-9]?)\Z")  #: Python writes a sign and two digits or more
_DIGIT = re.compile("-?[0-9]")
_CLOSING = {"{": "}", "[": "]"}
_LITERALS = ("true", "false", "null")


def complete_json(text: str) -> str:
    """Return the text with an end: the last token is completed, and all objects and lists are closed.

    Half an escape at the end is removed. A text that is no JSON up to its end gives a text that is no JSON.
    """
    open_signs: list[str] = []
    keys: list[bool] = []  #: for each open sign, whether the next value is a key of an object
    text = _remove_half_escape(text)
    last, before_last, start = "", "", len(text)
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token.isspace():
            continue
        before_last, last, start = last, token, match.start()
        if token in _CLOSING:
            open_signs.append(token)
            keys.append(token == "{")
        elif token in ("}", "]") and open_signs:
            open_signs.pop()
            keys.pop()
        elif token in (",", ":") and open_signs:
            keys[-1] = token == "," and open_signs[-1] == "{"
    end = _complete_token(last)
    if last.startswith('"') and keys and keys[-1] and before_last in ("{", ","):
        end += ": null"
    elif last == ",":
        end += ' "": null' if keys and keys[-1] else " null"
    elif last == ":":
        end += " null"
    return text[:start] + end + "".join(_CLOSING[sign] for sign in reversed(open_signs))


def _complete_token(token: str) -> str:
    """Return a token at the cut as a whole token. A number gets a digit if it would be written differently without."""
    if token.startswith('"'):
        is_closed = len(token) > 1 and token.endswith('"') and _is_free(token, len(token) - 1)
        return token if is_closed else f'{token}"'
    if token and (literals := [literal for literal in _LITERALS if literal.startswith(token)]):
        return literals[0]
    if exponent := _CUT_EXPONENT.search(token):
        return token + ("-07" if not exponent[1] else "9" * (2 - len(exponent[2])))
    is_cut_number = token == "-" or (_DIGIT.match(token) and "." in token and "e" not in token.lower())
    return f"{token}1" if is_cut_number else token


def _remove_half_escape(text: str) -> str:
    half = _HALF_ESCAPE.search(text)
    return text[: half.start()] if half and _is_free(text, half.start()) else text


def _is_free(text: str, position: int) -> bool:
    """Return whether the character at the position is not escaped."""
    before = text[:position]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 0
