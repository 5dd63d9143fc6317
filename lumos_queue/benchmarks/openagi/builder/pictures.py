"""Decode published pictures in a child process, and write them as the released code does: each as JPEG.

Pictures keep their size; the reader of the released layout resizes them. Low resolution is JPEG of a lower quality, so
each picture is compressed exactly once.
"""

from __future__ import annotations

import asyncio
import base64
import io
from collections.abc import Collection
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from lumos_queue.benchmarks.openagi.data.augmentations import PROFILES, augment_image
from lumos_queue.benchmarks.openagi.data.png import Pixels
from lumos_queue.errors import ActionError, SpecError
from lumos_queue.util.images import DECODE_SECONDS, MAX_BYTES, read_image
from lumos_queue.util.regular_file import open_regular
from lumos_queue.util.sandbox import Sandbox, serve

MAX_PIXELS = 8_000_000  #: of a picture, as noise is drawn in double precision
PROFILE = "released"
QUALITY = 75  #: of JPEG without the augmentation low resolution: Pillow's default, which the released code uses
_LOW_RESOLUTION = "low-resolutioned"
_PIECE = 700_000  #: bytes of pixels in a reply, which has them as base64
_decoder = Sandbox("lumos_queue.benchmarks.openagi.builder.pictures")


class UnusablePicture(Exception):
    """Raised for a picture that cannot be used. The argument is the reason, in one line."""


def read_pixels(path: Path) -> tuple[Pixels, str]:
    """Return a picture in RGB, and the sha256 of its file.

    Raises UnusablePicture for a picture that cannot be used, such as a decompression bomb.
    """
    try:
        picture = read_image(path)
        if picture.width * picture.height > MAX_PIXELS:
            raise UnusablePicture(f"it has more than {MAX_PIXELS // 10**6} megapixels")
        size = picture.width * picture.height * 3
        pieces = [_read_piece(path, picture.sha256, start) for start in range(0, size, _PIECE)]
    except SpecError as error:
        raise UnusablePicture(str(error).removeprefix(f"'{path}' cannot be used: ")) from None
    except ActionError as error:
        raise UnusablePicture(f"decoding it failed ({error.kind}: {error})") from None
    pixels = np.frombuffer(b"".join(pieces), np.uint8)
    if pixels.size != size:
        raise UnusablePicture("it changed while it was read")
    return pixels.reshape(picture.height, picture.width, 3), picture.sha256


def _read_piece(path: Path, sha256: str, start: int) -> bytes:
    request = {"path": str(path.absolute()), "sha256": sha256, "start": start}
    return base64.b64decode(asyncio.run(_decoder.call(request, DECODE_SECONDS))["pixels"])


def write_jpeg(pixels: Pixels, augmentations: Collection[str], *sample: object) -> bytes:
    """Return the picture with these augmentations as JPEG; `sample` seeds the noise.

    Raises UnusablePicture if the JPEG has more bytes than the reader takes.
    """
    names = [name for name in augmentations if name != _LOW_RESOLUTION]
    quality = PROFILES[PROFILE].jpeg_quality if _LOW_RESOLUTION in augmentations else QUALITY
    file = io.BytesIO()
    Image.fromarray(augment_image(pixels, names, PROFILE, *sample)).save(file, "JPEG", quality=quality)
    if len(file.getvalue()) > MAX_BYTES:
        raise UnusablePicture(f"it has more than {MAX_BYTES >> 20} MB after the augmentations")
    return file.getvalue()


# --- in the child -----------------------------------------------------------------------------------------------------


def main() -> None:
    serve(_send_piece)


def _send_piece(request: dict[str, Any]) -> dict[str, Any]:
    """Return a piece of a picture's pixels, as base64."""
    pixels = _decode(request["path"], request["sha256"])
    return {"pixels": base64.b64encode(pixels[request["start"] : request["start"] + _PIECE]).decode()}


@lru_cache(maxsize=1)
def _decode(path: str, sha256: str) -> bytes:
    """Return the pixels of a picture that was checked before. `sha256` makes another picture another call."""
    with open_regular(path) as file, Image.open(file, formats=("PNG", "JPEG", "WEBP", "GIF")) as image:
        return image.convert("RGB").tobytes()
