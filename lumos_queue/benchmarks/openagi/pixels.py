"""Decodes pictures of the released layout in a child process, and resizes them as the released code does.

Pictures of every shape get 256 x 256 pixels, by torchvision's bilinear interpolation. png.py writes the bytes.
"""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any

import numpy as np

from lumos_queue.benchmarks.openagi.data.png import write_png
from lumos_queue.errors import ActionError
from lumos_queue.util.images import DECODE_SECONDS, image_error, read_image
from lumos_queue.util.model_loading import import_libraries
from lumos_queue.util.regular_file import open_regular
from lumos_queue.util.sandbox import Sandbox, serve

SIDE = 256
_resizer = Sandbox("lumos_queue.benchmarks.openagi.pixels")


def read_resized(path: Path) -> bytes:
    """Return a picture file as a PNG of SIDE x SIDE. The call blocks while a child process decodes it.

    Raises SpecError for a file that cannot be used, such as a decompression bomb.
    """
    read_image(path)
    try:
        response = asyncio.run(_resizer.call({"path": str(path.absolute())}, DECODE_SECONDS))
    except ActionError as error:
        raise image_error(path, f"decoding it failed ({error.kind}: {error})") from None
    pixels = np.frombuffer(base64.b64decode(response["pixels"]), np.uint8)
    return write_png(pixels.reshape(SIDE, SIDE, 3))


# --- in the child -----------------------------------------------------------------------------------------------------


def main() -> None:
    serve(_resize)


def _resize(request: dict[str, Any]) -> dict[str, Any]:
    """Return the resized picture as `pixels`: SIDE x SIDE x 3 bytes, as base64."""
    with import_libraries("PIL.Image"):
        from PIL import Image

    with open_regular(request["path"]) as file, Image.open(file, formats=("PNG", "JPEG", "WEBP", "GIF")) as image:
        small = image.convert("RGB").resize((SIDE, SIDE), Image.Resampling.BILINEAR)
    return {"pixels": base64.b64encode(small.tobytes()).decode()}
