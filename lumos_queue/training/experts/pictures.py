"""Batches of generated pictures, clean or with augmentations."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache

import numpy as np
import torch
from torch import Tensor

from lumos_queue.benchmarks.openagi.data.augmentations import ORDER, augment_image
from lumos_queue.benchmarks.openagi.data.drawing import draw_scene
from lumos_queue.benchmarks.openagi.data.png import Pixels
from lumos_queue.benchmarks.openagi.data.samples import Sample, load_sample
from lumos_queue.training.experts.lesson import SPLIT, Chance

SOURCES = ("labels", "captions", "objects", "signs")
PICTURES = 2000  #: number of each source that training uses


@cache
def draw_training_picture(source: str, number: int) -> Pixels:
    """Return the clean picture of a sample of the training split."""
    return draw_scene(scene_of(load_sample(source, SPLIT, number)))


def scene_of(sample: Sample):
    assert sample.scene is not None
    return sample.scene


def draw_augmentations(chance: Chance) -> list[str]:
    """Return the names of random augmentations. Each is selected with a probability of one half."""
    return [name for name in ORDER if chance.random() < 0.5]


def change(pixels: Pixels, names: Collection[str], profiles: Sequence[str], key: int) -> Pixels:
    """Return the picture with these augmentations. `key` decides the profile and all random choices."""
    return augment_image(pixels, names, profiles[key % len(profiles)], "training", key)


def to_batch(pictures: Sequence[Pixels]) -> Tensor:
    """Return a tensor of shape (batch, 3, height, width) with values from 0 to 1."""
    batch = np.stack(pictures).transpose(0, 3, 1, 2)
    return torch.from_numpy(np.ascontiguousarray(batch)).float() / 255
