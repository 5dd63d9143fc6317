"""Frames between a host and its children: four bytes of length, big-endian, and as many bytes. No pickle.

A request is one frame that holds a frame for each slot of the expert; a reply is one frame: a byte that says what it
is (VALUE, PROBLEM) and its bytes. Lengths are checked before anything is read.
"""

from __future__ import annotations

import os
import select
import struct
import time

MAX_FRAME = 32 << 20  #: bytes
VALUE, PROBLEM, READY = b"v", b"p", b"r"
_LENGTH = struct.Struct(">I")


class Closed(Exception):
    """Raised when the other side has closed its end."""


class Late(Exception):
    """Raised when the other side has not answered in time."""


class Garbage(Exception):
    """Raised when what arrives is not a frame."""


def pack(parts: list[bytes]) -> bytes:
    """The parts, each with its length in front."""
    return b"".join(_LENGTH.pack(len(part)) + part for part in parts)


def unpack(data: bytes) -> list[bytes]:
    """What `pack` was given. Raises Garbage."""
    parts, position = [], 0
    while position < len(data):
        if position + 4 > len(data):
            raise Garbage("a length is cut off")
        (length,) = _LENGTH.unpack_from(data, position)
        position += 4 + length
        if position > len(data):
            raise Garbage("a part is cut off")
        parts.append(data[position - length : position])
    return parts


def write_frame(pipe: int, data: bytes, deadline: float | None = None) -> None:
    """Raises Closed; Late when the reader has not taken it by `deadline` (time.monotonic())."""
    rest = memoryview(pack([data]))
    poll = select.poll()
    poll.register(pipe, select.POLLOUT)
    try:
        while rest:
            _wait(poll, deadline)
            rest = rest[os.write(pipe, rest[: select.PIPE_BUF]) :]  # as much as fits for certain, so none blocks
    except BrokenPipeError:
        raise Closed from None


def read_frame(pipe: int, deadline: float | None = None) -> bytes:
    """Raises Closed; Late when it is not all there by `deadline`; Garbage for more than MAX_FRAME."""
    (length,) = _LENGTH.unpack(_read(pipe, 4, deadline))
    if length > MAX_FRAME:
        raise Garbage(f"a frame of {length} bytes: at most {MAX_FRAME} are allowed")
    return _read(pipe, length, deadline)


def _read(pipe: int, count: int, deadline: float | None) -> bytes:
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    data = bytearray()
    while len(data) < count:
        _wait(poll, deadline)
        piece = os.read(pipe, min(1 << 20, count - len(data)))
        if not piece:
            raise Closed
        data += piece
    return bytes(data)


def _wait(poll: select.poll, deadline: float | None) -> None:
    if not poll.poll(None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000):
        raise Late
