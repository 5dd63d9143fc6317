"""Read the newest step in a file of a W&B run that was written offline.

The file is a log in LevelDB's format: blocks of 32 KiB, with a header of seven bytes before each part of a record
(checksum, length, kind). A record is a protobuf message. The end may be missing, where a process was killed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from google.protobuf.message import DecodeError
from wandb.proto.wandb_internal_pb2 import Record  # pyright: ignore[reportMissingImports, reportAttributeAccessIssue]

from lumos_queue.util.regular_file import read_regular

_FILE_HEADER = 7  #: bytes
_BLOCK = 1 << 15  #: bytes
_PART = struct.Struct("<IHB")  #: checksum, length, kind
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4


def read_newest_step(path: Path) -> int:
    """Return the newest step of a file, or 0."""
    steps = (record.history.step.num for record in read_records(path) if record.HasField("history"))
    return max(steps, default=0)


def read_records(path: Path) -> Iterator[Record]:
    """Yield the whole records of a file."""
    for content in _split_records(read_regular(path)):
        try:
            yield Record.FromString(content)
        except DecodeError:
            return


def _split_records(data: bytes) -> Iterator[bytes]:
    """Yield the content of each whole record of a file."""
    offset, parts = _FILE_HEADER, b""
    while offset + _PART.size <= len(data):
        if _BLOCK - offset % _BLOCK < _PART.size:  # the rest of the block is padding
            offset += _BLOCK - offset % _BLOCK
            continue
        _, length, kind = _PART.unpack_from(data, offset)
        content = data[offset + _PART.size : offset + _PART.size + length]
        if len(content) < length or kind not in (_FULL, _FIRST, _MIDDLE, _LAST):
            return
        offset += _PART.size + length
        parts = content if kind in (_FULL, _FIRST) else parts + content
        if kind in (_FULL, _LAST):
            yield parts
