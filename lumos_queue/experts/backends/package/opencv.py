"""Remove noise from images with OpenCV."""

from __future__ import annotations

import cv2  # pyright: ignore[reportMissingImports]
import numpy as np
from PIL import Image

from lumos_queue.experts.backends.own.restoration import noise_level
from lumos_queue.experts.backends.pixels import read_picture, write_picture


class Bilateral:
    def run(self, *inputs: bytes) -> bytes:
        pixels = np.asarray(read_picture(inputs[0]))
        spread = max(5.0, 3 * 255 * noise_level(pixels.astype(np.float32) / np.float32(255)))
        return write_picture(Image.fromarray(cv2.bilateralFilter(pixels, 5, spread, 1.5)))


class NonLocalMeans:
    def run(self, *inputs: bytes) -> bytes:
        pixels = np.asarray(read_picture(inputs[0]))
        strength = max(3.0, 255 * noise_level(pixels.astype(np.float32) / np.float32(255)))
        return write_picture(Image.fromarray(cv2.fastNlMeansDenoisingColored(pixels, None, strength, strength, 5, 15)))
