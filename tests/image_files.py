"""Images for tests: honest images, and files whose headers lie about their size."""

from __future__ import annotations

import io
import struct
import zlib

from PIL import Image


def honest(kind: str = "PNG", size: tuple[int, int] = (6, 4), frames: int = 1, **options) -> bytes:
    """A picture with a gradient. `kind` is PNG, JPEG, WEBP, GIF, BMP or TIFF."""
    pictures = []
    for frame in range(frames):
        picture = Image.new("RGB", size)
        picture.putdata(
            [(40 * x % 256, 60 * y % 256, 90 * frame % 256) for y in range(size[1]) for x in range(size[0])]
        )
        pictures.append(picture)
    file = io.BytesIO()
    if frames > 1:
        options |= {"save_all": True, "append_images": pictures[1:]}
    pictures[0].save(file, kind, **options)
    return file.getvalue()


def png(width: int, height: int, rows: bytes, *extra: bytes) -> bytes:
    """A PNG of 24 bits a pixel whose header says `width` and `height`, with `rows` as its pixels."""
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return (
        b"\x89PNG\r\n\x1a\n" + header + b"".join(extra) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")
    )


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def text_bomb() -> bytes:
    """A PNG of one pixel with a comment that unpacks to 300 MB."""
    return png(1, 1, b"\0" * 4, chunk(b"zTXt", b"k\0\0" + pack_zeros(300)))


def profile_bomb() -> bytes:
    """Return a PNG of one pixel with a colour profile that unpacks to 300 MB."""
    return png(1, 1, b"\0" * 4, chunk(b"iCCP", b"k\0\0" + pack_zeros(300)))


def pack_zeros(mebibytes: int) -> bytes:
    """Return zlib.compress of so many zeros, composed of equal blocks, because compressing 300 MiB takes a second."""
    packer = zlib.compressobj(9, wbits=-15)
    block = packer.compress(bytes(2**20)) + packer.flush(zlib.Z_FULL_FLUSH)
    checksum = ((mebibytes << 20) % 65521) << 16 | 1  # Adler-32 of zeros
    return b"\x78\xda" + block * mebibytes + b"\x03\x00" + checksum.to_bytes(4, "big")


def gif_bomb() -> bytes:
    """A GIF of 29 bytes and 4.3 thousand megapixels."""
    size = struct.pack("<HH", 65535, 65535)
    return b"GIF89a" + size + b"\0\0\0," + bytes(4) + size + b"\0\x02\x02\x44\x01\0;"


def webp_bomb() -> bytes:
    """A WebP of 30 bytes whose canvas has 4.3 thousand megapixels."""
    canvas = struct.pack("<I", 65534)[:3] + struct.pack("<I", 65533)[:3]
    return b"RIFF" + struct.pack("<I", 22) + b"WEBPVP8X" + struct.pack("<I", 10) + bytes(4) + canvas
