"""Augment inputs: pictures by grayscale, blur, noise and low resolution, in the released code's order; texts by a mask.

As in the released code, low resolution is only JPEG compression, and noise is multiplied (speckle); the paper describes
fewer pixels and added noise. The released code compresses to JPEG after every augmentation, this module only for low
resolution. The random numbers depend on source, split, sample, channel and augmentation, so tasks share their inputs.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from random import Random
from types import MappingProxyType
from typing import Any

import numpy as np
from PIL import Image, ImageFilter

from lumos_queue.benchmarks.openagi.data.png import Pixels
from lumos_queue.benchmarks.openagi.data.seeds import seed_of

ORDER = ("grayscale", "blurry", "noisy", "low-resolutioned")  #: the order in which pictures are changed
CLOZED, MASK = "clozed", "[MASK]"


@dataclass(frozen=True, slots=True)
class Profile:
    """The strength of the augmentations."""

    blur_radius: int  #: of a Gaussian, in pixels
    speckle_variance: float  #: of the noise n in x + x * n, for pixels x from 0 to 1
    jpeg_quality: int


PROFILES: Mapping[str, Profile] = MappingProxyType({"released": Profile(1, 0.005, 30), "strong": Profile(2, 0.08, 8)})


def manifest(profile: str) -> dict[str, Any]:
    """Return the parameters of a profile, as tasks store them."""
    parameters = PROFILES[profile]
    return {
        "profile": profile,
        "order": [*ORDER, CLOZED],
        "blur.radius": parameters.blur_radius,
        "noise.kind": "speckle",
        "noise.variance": parameters.speckle_variance,
        "lowres.kind": "jpeg",
        "lowres.quality": parameters.jpeg_quality,
        "mask.tokens": 1,
        "translator": "the grammar that wrote the English",
        "seed": "source, split, sample, channel, augmentation",
    }


def augment_image(pixels: Pixels, names: Collection[str], profile: str, *sample: object) -> Pixels:
    """Return the picture with these augmentations, applied in the order of ORDER. `sample` seeds the random numbers."""
    strength = PROFILES[profile]
    for name in ORDER:
        if name in names:
            pixels = _AUGMENT[name](pixels, strength, seed_of(*sample, name))
    return pixels


def mask_token(text: str, *sample: object) -> str:
    """Return the text with a word replaced by [MASK], at random with `sample` as seed. Spaces separate words."""
    words = text.split(" ")
    words[Random(f"{(*sample, CLOZED)}").randrange(len(words))] = MASK
    return " ".join(words)


def _to_gray(pixels: Pixels, strength: Profile, seed: int) -> Pixels:
    return np.asarray(Image.fromarray(pixels).convert("L").convert("RGB"))


def _blur(pixels: Pixels, strength: Profile, seed: int) -> Pixels:
    return np.asarray(Image.fromarray(pixels).filter(ImageFilter.GaussianBlur(strength.blur_radius)))


def _multiply_noise(pixels: Pixels, strength: Profile, seed: int) -> Pixels:
    """Return the pixels with noise n: x + x * n for x from 0 to 1, clipped and rounded down as in the released code."""
    chance = np.random.RandomState(seed)  # its draws are the same in every version of numpy
    noise = chance.normal(0.0, strength.speckle_variance**0.5, pixels.shape)
    clean = pixels / 255
    return (np.clip(clean + clean * noise, 0, 1) * 255).astype(np.uint8)


def _compress(pixels: Pixels, strength: Profile, seed: int) -> Pixels:
    data = io.BytesIO()
    Image.fromarray(pixels).save(data, "JPEG", quality=strength.jpeg_quality)
    with Image.open(data) as image:
        return np.asarray(image.convert("RGB"))


_AUGMENT = {"grayscale": _to_gray, "blurry": _blur, "noisy": _multiply_noise, "low-resolutioned": _compress}
