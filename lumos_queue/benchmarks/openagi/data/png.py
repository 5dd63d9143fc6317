"""Pixels as PNG bytes that are the same everywhere.

The digest of a picture's bytes identifies it, but versions of compressors make different bytes of the same pixels. So
nothing is compressed: a picture of 64 x 64 has 12 kB. PNG: ISO/IEC 15948; stored blocks: RFC 1951, 3.2.4.
"""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
from numpy.typing import NDArray

from lumos_queue.util.model_loading import import_libraries

Pixels = NDArray[np.uint8]  #: height x width x 3, red, green and blue
_BLOCK = 65_535  #: bytes that a stored block can hold


def write_png(pixels: Pixels) -> bytes:
    """Return a PNG of 8 bits a channel. Raises ValueError unless the array is height x width x 3 of uint8."""
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3:
        raise ValueError(f"expected height x width x 3 of uint8, not {pixels.shape} of {pixels.dtype}")
    height, width, _ = pixels.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, width * 3)], axis=1)  # no filter
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", _store_uncompressed(rows.tobytes())), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(map(_chunk, *zip(*chunks, strict=True)))


def read_png(data: bytes) -> Pixels:
    """Return the pixels of a PNG that `write_png` made."""
    with import_libraries("PIL.Image"):
        from PIL import Image

    with Image.open(io.BytesIO(data), formats=("PNG",)) as image:
        return np.asarray(image.convert("RGB"))


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def _store_uncompressed(content: bytes) -> bytes:
    """Return a zlib stream of blocks that are not compressed."""
    blocks = [content[offset : offset + _BLOCK] for offset in range(0, len(content), _BLOCK)]
    body = b"".join(
        struct.pack("<BHH", number == len(blocks) - 1, len(block), len(block) ^ 0xFFFF) + block
        for number, block in enumerate(blocks)
    )
    return b"\x78\x01" + body + struct.pack(">I", zlib.adler32(content))
