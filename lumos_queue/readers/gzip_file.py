"""A gzip file, unpacked as it is read, within limits: a small file may unpack to any size."""

from __future__ import annotations

import io
import zlib
from typing import BinaryIO

from lumos_queue.readers.source import Source

#: How many times its size a file may unpack to: text reaches 5 to 50, a bomb of zeros 1,030.
MAX_RATIO = 200
SLACK_BYTES = 32 * 2**20  #: that may be unpacked in any case
MAX_UNPACKED_BYTES = 16 * 2**30
_PACKED_BYTES = 2**16  #: that are read at once
_GZIP = 31  # what zlib calls the format with its header and its checksum


class Unpacked(io.RawIOBase):
    """The content of a gzip file of one or more members. Reading raises SpecError for a damaged one, and for a bomb."""

    def __init__(self, packed: BinaryIO, source: Source):
        self._packed, self._source = packed, source
        self._decoder, self._waiting = zlib.decompressobj(_GZIP), b""
        self._consumed = self._produced = 0
        self._begun = False  # whether the member has bytes: an end is due

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._packed.close()
        super().close()

    def readinto(self, buffer: object, /) -> int:
        view = memoryview(buffer).cast("B")  # pyright: ignore[reportArgumentType]
        data = self._unpack(len(view))
        view[: len(data)] = data
        return len(data)

    def _unpack(self, size: int) -> bytes:
        """Return up to `size` bytes; b"" at the end."""
        while True:
            if self._decoder.eof:
                self._waiting = self._decoder.unused_data.lstrip(b"\0")  # archives are padded with zeros
                self._decoder, self._begun = zlib.decompressobj(_GZIP), False
            if not self._waiting:
                self._waiting = self._packed.read(_PACKED_BYTES)
                if not self._waiting and not self._begun:
                    return b""
                if not self._waiting:
                    raise self._source.refuse("its gzip data is cut off. Copy or download the file again")
                self._consumed += len(self._waiting)
            self._waiting = self._waiting if self._begun else self._waiting.lstrip(b"\0")
            if not self._waiting:
                continue
            try:
                data = self._decoder.decompress(self._waiting, size)
            except zlib.error as error:
                reason = str(error).partition(": ")[2] or "not gzip"
                raise self._source.refuse(
                    f"its gzip data is damaged ({reason}). Copy or download the file again"
                ) from error
            self._waiting, self._begun = self._decoder.unconsumed_tail, True
            self._produced += len(data)
            self._check_size()
            if data:
                return data

    def _check_size(self) -> None:
        if self._produced > MAX_UNPACKED_BYTES:
            raise self._source.refuse(f"it unpacks to more than {MAX_UNPACKED_BYTES >> 30} GiB. Split the file")
        if self._produced > MAX_RATIO * self._consumed + SLACK_BYTES:
            raise self._source.refuse(
                f"it unpacks to more than {MAX_RATIO} times its size, as rows do not. If you trust it, unpack it with: "
                "gunzip"
            )
