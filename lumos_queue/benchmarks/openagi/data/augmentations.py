"""What is done to inputs, in the order of the released code: grayscale, blur, noise, low resolution; a mask in texts.

Low resolution is JPEG compression alone, and noise is multiplied (speckle), as in the released code; the paper's words
say fewer pixels and noise added. Other than there, only low resolution goes through JPEG: what is not asked for is left
out. Chance depends on source, split, sample, channel and augmentation, so tasks share their inputs.
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

ORDER = ("grayscale", "blurry", "noisy", "low-resolutioned")  #: in which pictures are changed
CLOZED, MASK = "clozed", "[MASK]"


@dataclass(frozen=True, slots=True)
class Profile:
    """How strong the augmentations are."""

    blur_radius: int  #: of a Gaussian, in pixels
    speckle_variance: float  #: of what pixels from 0 to 1 are multiplied with, besides 1
    jpeg_quality: int


PROFILES: Mapping[str, Profile] = MappingProxyType({"released": Profile(1, 0.005, 30), "strong": Profile(2, 0.08, 8)})


def manifest(profile: str) -> dict[str, Any]:
    """The parameters of a profile, as tasks carry them."""
    found = PROFILES[profile]
    return {
        "profile": profile,
        "order": [*ORDER, CLOZED],
        "blur.radius": found.blur_radius,
        "noise.kind": "speckle",
        "noise.variance": found.speckle_variance,
        "lowres.kind": "jpeg",
        "lowres.quality": found.jpeg_quality,
        "mask.tokens": 1,
        "translator": "the grammar that wrote the English",
        "seed": "source, split, sample, channel, augmentation",
    }


def augment_image(pixels: Pixels, names: Collection[str], profile: str, *sample: object) -> Pixels:
    """The picture with these augmentations, whatever order they are named in. `sample` is what chance depends on."""
    strength = PROFILES[profile]
    for name in ORDER:
        if name in names:
            pixels = _AUGMENT[name](pixels, strength, seed_of(*sample, name))
    return pixels


def mask_token(text: str, *sample: object) -> str:
    """The text with one of its words, as spaces part them, replaced by [MASK]."""
    words = text.split(" ")
    words[Random(f"{(*sample, CLOZED)}").randrange(len(words))] = MASK
    return " ".join(words)


def _to_gray(pixels: Pixels, strength: Profile, seed: int) -> Pixels:
    return np.asarray(Image.fromarray(pixels).convert("L").convert("RGB"))


def _blur(pixels: Pixels, strength: Profile, seed: int) -> Pixels:
    return np.asarray(Image.fromarray(pixels).filter(ImageFilter.GaussianBlur(strength.blur_radius)))


def _multiply_noise(pixels: Pixels, strength: Profile, seed: int) -> Pixels:
    """x + x * n for x from 0 to 1, then cut to that range and rounded down, as the released code does."""
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
