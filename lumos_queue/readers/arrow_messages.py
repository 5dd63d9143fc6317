"""Find out whether an Arrow stream is compressed before it is unpacked, because a small part may unpack to any size.

The library `datasets` writes no compression. A message of a stream begins with a table in the format FlatBuffers. This
module reads a few fields of that table:
https://arrow.apache.org/docs/format/Columnar.html#serialization-and-interprocess-communication-ipc.
"""

from __future__ import annotations

import struct
from typing import BinaryIO

from lumos_queue.util.model_loading import import_libraries

_HEADER_KIND, _HEADER = 1, 2  # fields of Message
_DICTIONARY_BATCH, _RECORD_BATCH = 2, 3  # kinds of headers
_DATA, _COMPRESSION = 1, 3  # fields of DictionaryBatch and of RecordBatch


def is_compressed(file: BinaryIO) -> bool:
    """Return whether a part of the stream is compressed. Raises ArrowException or struct.error for a damaged stream."""
    with import_libraries("pyarrow.ipc"):
        from pyarrow import ipc

    for message in ipc.MessageReader.open_stream(file):
        table = message.metadata.to_pybytes()
        position = _follow(table, 0)
        kind_position = _find_field(table, position, _HEADER_KIND)
        header_position = _find_field(table, position, _HEADER)
        if not kind_position or not header_position:
            continue
        batch = _follow(table, header_position)
        if table[kind_position] == _DICTIONARY_BATCH and (data_position := _find_field(table, batch, _DATA)):
            batch = _follow(table, data_position)
        elif table[kind_position] != _RECORD_BATCH:
            continue
        if _find_field(table, batch, _COMPRESSION):
            return True
    return False


def _follow(table: bytes, position: int) -> int:
    """Return the position that an offset leads to."""
    return position + struct.unpack_from("<I", table, position)[0]


def _find_field(table: bytes, position: int, field: int) -> int:
    """Return the position of a field of the object at `position`; 0 if the object has no such field."""
    fields = position - struct.unpack_from("<i", table, position)[0]
    if fields < 0 or 4 + 2 * field >= struct.unpack_from("<H", table, fields)[0]:
        return 0
    offset = struct.unpack_from("<H", table, fields + 4 + 2 * field)[0]
    return position + offset if offset else 0
