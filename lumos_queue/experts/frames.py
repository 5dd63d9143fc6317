"""Read and write frames between a host and its child processes: four bytes of length, big-endian, then the content.

A request is a frame that contains a frame for each slot of the expert. A reply is a frame: a byte for its type (VALUE,
PROBLEM), then its content. The length is checked before the content is read. No pickle is used.
"""

from __future__ import annotations

import os
import select
import struct
import time

MAX_FRAME = 32 << 20  #: bytes
VALUE, PROBLEM, READY = b"v", b"p", b"r"
_LENGTH = struct.Struct(">I")


class PipeClosed(Exception):
    """Raised when the other process has closed its end of the pipe."""


class DeadlinePassed(Exception):
    """Raised when the other process has not read or written a frame in time."""


class BadFrame(Exception):
    """Raised when the received bytes are not a frame."""


def pack(parts: list[bytes]) -> bytes:
    """Return the parts as one byte string, in which each part follows its length."""
    return b"".join(_LENGTH.pack(len(part)) + part for part in parts)


def unpack(data: bytes) -> list[bytes]:
    """Return the parts that `pack` joined. Raises BadFrame for bytes that `pack` did not make."""
    parts, position = [], 0
    while position < len(data):
        if position + 4 > len(data):
            raise BadFrame("a length is cut off")
        (length,) = _LENGTH.unpack_from(data, position)
        position += 4 + length
        if position > len(data):
            raise BadFrame("a part is cut off")
        parts.append(data[position - length : position])
    return parts


def write_frame(pipe: int, data: bytes, deadline: float | None = None) -> None:
    """Write a frame. `deadline` is in seconds of time.monotonic(); None: no limit.

    Raises PipeClosed, and DeadlinePassed if the pipe has not taken the whole frame by the deadline.
    """
    rest = memoryview(pack([data]))
    poll = select.poll()
    poll.register(pipe, select.POLLOUT)
    try:
        while rest:
            _wait(poll, deadline)
            rest = rest[os.write(pipe, rest[: select.PIPE_BUF]) :]  # this much always fits, so no write blocks
    except BrokenPipeError:
        raise PipeClosed from None


def read_frame(pipe: int, deadline: float | None = None) -> bytes:
    """Read a frame and return its content. `deadline` is in seconds of time.monotonic(); None: no limit.

    Raises PipeClosed, DeadlinePassed if the frame has not arrived completely by the deadline, and BadFrame for a frame
    of more than MAX_FRAME bytes.
    """
    (length,) = _LENGTH.unpack(_read(pipe, 4, deadline))
    if length > MAX_FRAME:
        raise BadFrame(f"a frame of {length} bytes: at most {MAX_FRAME} are allowed")
    return _read(pipe, length, deadline)


def _read(pipe: int, count: int, deadline: float | None) -> bytes:
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    data = bytearray()
    while len(data) < count:
        _wait(poll, deadline)
        piece = os.read(pipe, min(1 << 20, count - len(data)))
        if not piece:
            raise PipeClosed
        data += piece
    return bytes(data)


def _wait(poll: select.poll, deadline: float | None) -> None:
    if not poll.poll(None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000):
        raise DeadlinePassed
