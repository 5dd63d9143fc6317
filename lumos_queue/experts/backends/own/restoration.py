"""Classical restoration of any picture: rules that remove noise, blur and the blocks of JPEG.

`python -m experiments.experts` measures them on held-out generated pictures.
"""

from __future__ import annotations

import numpy as np
from PIL import ImageFilter

from lumos_queue.experts.backends.pixels import Pixels, from_pixels, read_picture, to_pixels, write_picture

_SIDE = 2  #: pixels of a neighbourhood to each side


class Denoise:
    """A bilateral filter (Tomasi and Manduchi 1998) whose range follows the noise that it estimates."""

    def run(self, *inputs: bytes) -> bytes:
        pixels = to_pixels(inputs[0])
        return from_pixels(smooth_bilateral(pixels, spatial=1.5, range_=max(0.02, 3.0 * noise_level(pixels))))


class Deblur:
    """An unsharp mask. Richardson-Lucy was rejected: it makes compressed pictures worse."""

    def run(self, *inputs: bytes) -> bytes:
        return write_picture(
            read_picture(inputs[0]).filter(ImageFilter.UnsharpMask(radius=1, percent=120, threshold=0))
        )


class ReduceBlocks:
    """A light bilateral filter. The size stays, because low resolution is only JPEG compression in OpenAGI's code."""

    def run(self, *inputs: bytes) -> bytes:
        return from_pixels(smooth_bilateral(to_pixels(inputs[0]), spatial=1.0, range_=0.06))


def noise_level(pixels: Pixels) -> float:
    """Return the standard deviation of the noise, from the median of the Laplacian (Immerkaer 1996)."""
    gray = pixels.mean(axis=2)
    laplacian = gray[:-2, :-2] + gray[2:, 2:] + gray[:-2, 2:] + gray[2:, :-2]
    laplacian = laplacian - 2 * (gray[:-2, 1:-1] + gray[2:, 1:-1] + gray[1:-1, :-2] + gray[1:-1, 2:])
    laplacian = laplacian + 4 * gray[1:-1, 1:-1]
    return float(np.median(np.abs(laplacian)) / 0.6745 / 6) if laplacian.size else 0.0


def smooth_bilateral(pixels: Pixels, spatial: float, range_: float) -> Pixels:
    """Return each pixel as a mean of its neighbours, weighted by distance (pixels) and colour difference (0 to 1)."""
    height, width, _ = pixels.shape
    padded_pixels = np.pad(pixels, ((_SIDE, _SIDE), (_SIDE, _SIDE), (0, 0)), mode="edge")
    total, weights = np.zeros_like(pixels), np.zeros((height, width, 1), dtype=np.float32)
    for down in range(2 * _SIDE + 1):
        for right in range(2 * _SIDE + 1):
            shifted_pixels = padded_pixels[down : down + height, right : right + width]
            far = ((down - _SIDE) ** 2 + (right - _SIDE) ** 2) / (2 * spatial**2)
            apart = ((shifted_pixels - pixels) ** 2).mean(axis=2, keepdims=True) / (2 * range_**2)
            weight = np.exp(-far - apart)
            total, weights = total + weight * shifted_pixels, weights + weight
    return total / weights
