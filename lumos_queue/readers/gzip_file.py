"""Unpack a gzip file while it is read, within limits, because a small file may unpack to any size."""

from __future__ import annotations

import io
import zlib
from typing import BinaryIO

from lumos_queue.readers.source import Source
from lumos_queue.util.wording import format_bytes

#: Largest ratio of unpacked to packed size. Text reaches 5 to 50, a bomb of zeros 1,030.
MAX_RATIO = 200
SLACK_BYTES = 32 * 2**20  #: may be unpacked at any ratio
MAX_UNPACKED_BYTES = 16 * 2**30
_PACKED_BYTES = 2**16  #: read at once
_GZIP = 31  # zlib's number for the format with its header and its checksum


class GzipContent(io.RawIOBase):
    """The unpacked content of a gzip file. Reading raises SpecError for a damaged file, and beyond the limits."""

    def __init__(self, file: BinaryIO, source: Source):
        self._file, self._source = file, source
        self._decoder, self._pending = zlib.decompressobj(_GZIP), b""
        self._input_bytes = self._output_bytes = 0
        self._in_member = False  # whether the file must not end here

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._file.close()
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
                self._pending = self._decoder.unused_data.lstrip(b"\0")  # archives are padded with zeros
                self._decoder, self._in_member = zlib.decompressobj(_GZIP), False
            if not self._pending:
                self._pending = self._file.read(_PACKED_BYTES)
                if not self._pending and not self._in_member:
                    return b""
                if not self._pending:
                    raise self._source.refuse("its gzip data is cut off. Copy or download the file again")
                self._input_bytes += len(self._pending)
            self._pending = self._pending if self._in_member else self._pending.lstrip(b"\0")
            if not self._pending:
                continue
            try:
                data = self._decoder.decompress(self._pending, size)
            except zlib.error as error:
                reason = str(error).partition(": ")[2] or "not gzip"
                raise self._source.refuse(
                    f"its gzip data is damaged ({reason}). Copy or download the file again"
                ) from error
            self._pending, self._in_member = self._decoder.unconsumed_tail, True
            self._output_bytes += len(data)
            self._check_size()
            if data:
                return data

    def _check_size(self) -> None:
        if self._output_bytes > MAX_UNPACKED_BYTES:
            raise self._source.refuse(f"it unpacks to more than {format_bytes(MAX_UNPACKED_BYTES)}. Split the file")
        if self._output_bytes > MAX_RATIO * self._input_bytes + SLACK_BYTES:
            raise self._source.refuse(
                f"it unpacks to more than {MAX_RATIO} times its size, which is unusual for rows. If you trust it, "
                "unpack it with: gunzip"
            )
