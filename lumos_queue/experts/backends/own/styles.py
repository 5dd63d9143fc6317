"""Change the style of any picture with a filter for each named style, without a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from PIL import Image, ImageChops, ImageFilter, ImageOps

from lumos_queue.experts.backends.pixels import read_picture, read_text, write_picture
from lumos_queue.experts.problems import BAD_INPUT, SampleError

_SEPIA = np.array([[0.393, 0.769, 0.189], [0.349, 0.686, 0.168], [0.272, 0.534, 0.131]], np.float32)
_BLOCKS = 24  #: squares to a side, of pixel art


class ChangeStyle:
    """Changes a picture to the style that a text names, such as `sepia` or `as a pencil sketch`.

    Raises SampleError unless the text names exactly one style.
    """

    def run(self, *inputs: bytes) -> bytes:
        text = " ".join(read_text(inputs[1]).lower().replace("-", " ").split())
        styles = dict.fromkeys(style for word, style in _WORDS.items() if word in text)
        if len(styles) != 1:
            raise SampleError(BAD_INPUT, f"expected one of the styles {', '.join(STYLES)}")
        return write_picture(STYLES[next(iter(styles))](read_picture(inputs[0])))


def tone_sepia(image: Image.Image) -> Image.Image:
    """Return the image in brown tones, by the usual sepia matrix."""
    pixels = np.asarray(image, np.float32) @ _SEPIA.T
    return Image.fromarray(pixels.clip(0, 255).round().astype(np.uint8))


def sketch(image: Image.Image) -> Image.Image:
    """Return a pencil sketch: dark lines where lightness changes (the picture divided by its blurred copy)."""
    light = ImageOps.grayscale(image)
    blurred_light = light.filter(ImageFilter.GaussianBlur(max(1.0, min(image.size) / 32)))
    ratio = np.asarray(light, np.float32) / np.maximum(np.asarray(blurred_light, np.float32), 1.0)
    return Image.fromarray((255 * ratio.clip(0, 1) ** 3).round().astype(np.uint8)).convert("RGB")


def draw_blocks(image: Image.Image) -> Image.Image:
    """Return the image in coarse squares."""
    small = image.resize((_BLOCKS, _BLOCKS), Image.Resampling.BOX)
    return small.resize(image.size, Image.Resampling.NEAREST)


STYLES: Mapping[str, Callable[[Image.Image], Image.Image]] = MappingProxyType(
    {
        "sepia": tone_sepia,
        "sketch": sketch,
        "negative": ImageChops.invert,
        "black and white": lambda image: ImageOps.grayscale(image).convert("RGB"),
        "poster": lambda image: ImageOps.posterize(image, 2),
        "pixel art": draw_blocks,
    }
)
#: Words of a text → style.
_WORDS: Mapping[str, str] = MappingProxyType(
    {name: name for name in STYLES} | {"pop art": "poster", "grayscale": "black and white", "pencil": "sketch"}
)
