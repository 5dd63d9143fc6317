"""Measure the similarity of pictures without a model: SSIM and PSNR. They are proxies and never replace a ViT score."""

from __future__ import annotations

import io
import math

import numpy as np
from numpy.typing import NDArray
from PIL import Image

_SIGMA, _RADIUS = 1.5, 5  #: pixels: the Gaussian window of 11 x 11
_C1, _C2 = 0.01**2, 0.03**2
MAX_PIXELS = 4_000_000
Planes = NDArray[np.float64]  #: height x width x 3, 0 to 1


def ssim(first: bytes, second: bytes) -> float:
    """Return the mean structural similarity of two image files, from -1 to 1.

    The mean is over the colours and over the pixels that have a whole window around them (Wang, Bovik, Sheikh and
    Simoncelli 2004, equation 13). The second picture is resized to the size of the first. Raises ValueError for a file
    that cannot be decoded, and for a picture smaller than the window.
    """
    x, y = _read_pair(first, second)
    if min(x.shape[:2]) <= 2 * _RADIUS:
        raise ValueError(f"a picture of {x.shape[1]} x {x.shape[0]} is smaller than the window of 11 x 11")
    mean_x, mean_y = _blur(x), _blur(y)
    var_x, var_y, both = _blur(x * x) - mean_x**2, _blur(y * y) - mean_y**2, _blur(x * y) - mean_x * mean_y
    upper = (2 * mean_x * mean_y + _C1) * (2 * both + _C2)
    return float((upper / ((mean_x**2 + mean_y**2 + _C1) * (var_x + var_y + _C2))).mean())


def psnr(first: bytes, second: bytes) -> float:
    """Return the peak signal-to-noise ratio in dB; infinity for equal pictures. Raises ValueError for a broken file."""
    x, y = _read_pair(first, second)
    error = float(((x - y) ** 2).mean())
    return math.inf if error == 0 else -10 * math.log10(error)


def _read_pair(left_image: bytes, right_image: bytes) -> tuple[Planes, Planes]:
    first, second = _decode(left_image), _decode(right_image)
    if second.size != first.size:
        second = second.resize(first.size, Image.Resampling.BICUBIC)
    return np.asarray(first, dtype=np.float64) / 255, np.asarray(second, dtype=np.float64) / 255


def _decode(data: bytes) -> Image.Image:
    try:
        with Image.open(io.BytesIO(data), formats=("PNG", "JPEG", "WEBP", "GIF")) as image:
            if image.width * image.height > MAX_PIXELS:
                raise ValueError(f"more than {MAX_PIXELS:,} pixels")
            return image.convert("RGB")
    except Exception as error:  # a broken file can make a decoder raise anything
        raise ValueError(f"a picture that cannot be compared: {error}") from None


def _blur(planes: Planes) -> Planes:
    """Return the Gaussian mean around each pixel that has a whole window around it."""
    weights = np.exp(-(np.arange(-_RADIUS, _RADIUS + 1) ** 2) / (2 * _SIGMA**2))
    weights /= weights.sum()
    for axis in (0, 1):
        length = planes.shape[axis] - 2 * _RADIUS
        planes = sum(
            weight * np.take(planes, np.arange(start, start + length), axis=axis)
            for start, weight in enumerate(weights)
        )  # type: ignore[assignment]
    return planes
