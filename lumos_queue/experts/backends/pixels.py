"""Converts images and texts in the process of an expert.

An array has the shape (height, width, 3), float32, RGB from 0 to 1. Outputs are PNG.
"""

from __future__ import annotations

import io
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from lumos_queue.experts.problems import BAD_INPUT, BAD_OUTPUT, SampleError

MAX_PIXELS = 4_000_000
Pixels = NDArray[np.float32]

Image.MAX_IMAGE_PIXELS = MAX_PIXELS
warnings.simplefilter("error", Image.DecompressionBombWarning)


def read_picture(data: bytes) -> Image.Image:
    """Return the decoded image in RGB.

    Raises SampleError if the bytes are no image or a broken one, and for more than MAX_PIXELS pixels.
    """
    try:
        with Image.open(io.BytesIO(data), formats=("PNG", "JPEG", "WEBP", "GIF")) as image:
            return image.convert("RGB")
    except MemoryError:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise SampleError(BAD_INPUT, f"an image of more than {MAX_PIXELS:,} pixels") from None
    except Exception as error:  # a broken file can make a decoder raise anything
        raise SampleError(BAD_INPUT, f"an image that cannot be decoded ({str(error)[:80]})") from None


def write_picture(image: Image.Image) -> bytes:
    """Return an image as PNG. The same pixels always give the same bytes."""
    buffer = io.BytesIO()
    image.convert("RGB").save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


def to_pixels(data: bytes) -> Pixels:
    """Return the decoded image as an array. Raises SampleError like `read_picture`."""
    return np.asarray(read_picture(data), dtype=np.float32) / np.float32(255)


def from_pixels(values: Any) -> bytes:
    """Return an array as PNG. Raises SampleError for another shape, and for NaN and infinity."""
    pixels = np.asarray(values, dtype=np.float32)
    if pixels.ndim != 3 or pixels.shape[2] != 3 or 0 in pixels.shape:
        raise SampleError(BAD_OUTPUT, f"an array of shape {pixels.shape}, not (height, width, 3)")
    if not np.isfinite(pixels).all():
        raise SampleError(BAD_OUTPUT, "NaN or infinite pixels")
    return write_picture(Image.fromarray((pixels.clip(0, 1) * 255).round().astype(np.uint8)))


def read_text(data: bytes) -> str:
    """Return a text without surrounding spaces. Raises SampleError for bytes that are not UTF-8, and for no text."""
    try:
        text = data.decode().strip()
    except UnicodeDecodeError:
        raise SampleError(BAD_INPUT, "expected UTF-8") from None
    if not text:
        raise SampleError(BAD_INPUT, "an empty text")
    return text
