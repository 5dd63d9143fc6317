"""Check the type of an expert's output. The next expert decodes the output, in its own process; nothing does here."""

from __future__ import annotations

import struct

from lumos_queue.experts.base import Kind
from lumos_queue.experts.problems import BAD_OUTPUT, Problem

MAX_SIDE = 4096  #: pixels
MAX_TEXT = 60_000  #: bytes
_PNG = b"\x89PNG\r\n\x1a\n"
_END = b"IEND\xaeB`\x82"


def check_value(kind: Kind, data: bytes) -> bytes | Problem:
    """Return `data` if it can be a value of this kind, else the problem with it."""
    if problem := (_problem_of_image if kind is Kind.IMAGE else _problem_of_text)(data):
        return Problem(BAD_OUTPUT, problem)
    return data


def _problem_of_image(data: bytes) -> str:
    if not data.startswith(_PNG) or len(data) < 33:
        return "expected a PNG"
    width, height = struct.unpack_from(">II", data, 16)
    if not (0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE):
        return f"a PNG of {width} x {height} pixels: at most {MAX_SIDE} a side"
    return "" if data.endswith(_END) else "a PNG that is cut off"


def _problem_of_text(data: bytes) -> str:
    if len(data) > MAX_TEXT:
        return f"a text of {len(data)} bytes: at most {MAX_TEXT}"
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return "expected UTF-8"
    return "a text with a zero byte" if "\0" in text else ""
