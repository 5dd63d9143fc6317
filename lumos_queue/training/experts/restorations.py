"""Lessons of the four experts that undo an augmentation.

The loss is the mean absolute difference to the picture without the augmentation. It is divided by the difference before
the restoration, so that slightly and strongly changed pictures count the same. Grey pictures all lack their colours;
their loss is not divided.

In plans the experts also get pictures with other augmentations, which they must not change. Therefore two in five of
the pictures have other augmentations, before and after. A tenth of the pictures lack the augmentation, so that the
expert learns to leave such pictures unchanged. Pictures that get colours always have it, because the expert would
otherwise first learn to change nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor

from lumos_queue.benchmarks.openagi.data.png import Pixels
from lumos_queue.experts.backends.own.networks.restorer import Restorer
from lumos_queue.experts.catalogue import EXPERTS
from lumos_queue.training.experts.lesson import Chance, Lesson
from lumos_queue.training.experts.pictures import (
    PICTURES,
    SOURCES,
    change,
    draw_augmentations,
    draw_training_picture,
    to_batch,
)

_CROP = 32  #: side of a crop, in pixels
_LEAST = 0.01  #: added to the difference before the restoration, which may be 0
_PICTURES, _CROPS = 6, 2  #: pictures of a step, and crops of each picture
_WIDE_PICTURES = 12  #: of a step with whole pictures
_FINE = {"factor": 2, "channels": 48, "depth": 5}
#: Share of a mean of neighbours in the output at first. Deblurring needs it, too: it learns nothing if it starts from
#: the picture itself, in which most pixels are right already.
_SHARES = {"noisy": 0.5, "low-resolutioned": 0.5, "blurry": 0.5}
_WIDE = {"factor": 4, "channels": 64, "depth": 6}  #: sees a whole thing, because the kind of thing decides its colours


def restoration(expert: str, profiles: Sequence[str]) -> Lesson:
    """Return the lesson of one of the four experts."""
    augmentation = EXPERTS[expert].undoes
    whole = augmentation == "grayscale"
    share = _SHARES.get(augmentation, 0.0)
    shape: dict[str, Any] = (_WIDE if whole else _FINE) | {"share": share}
    network = Restorer(**shape)

    def loss(chance: Chance) -> Tensor:
        inputs: list[Pixels] = []
        targets: list[Pixels] = []
        for _ in range(_PICTURES if not whole else _WIDE_PICTURES):
            pair = _draw_pair(augmentation, profiles, chance)
            for box in [np.s_[:, :]] if whole else [_draw_box(chance, pair[0]) for _ in range(_CROPS)]:
                inputs.append(pair[0][box])
                targets.append(pair[1][box])
        before, after = to_batch(inputs), to_batch(targets)
        distances, input_distances = (
            (pictures - after).abs().mean(dim=(1, 2, 3)) for pictures in (network(before), before)
        )
        return distances.mean() if whole else (distances / (input_distances + _LEAST)).mean()

    return Lesson(network, shape, loss, {})


def _draw_pair(augmentation: str, profiles: Sequence[str], chance: Chance) -> tuple[Pixels, Pixels]:
    """Return a picture, mostly with the augmentation, and the same picture without it."""
    source = SOURCES[int(chance.integers(len(SOURCES)))]
    clean = draw_training_picture(source, int(chance.integers(PICTURES)))
    key = int(chance.integers(1 << 40))
    other_names = draw_augmentations(chance) if chance.random() < 0.4 else []
    other_names = [name for name in other_names if name != augmentation]
    own_names = [augmentation] if augmentation == "grayscale" or chance.random() < 0.9 else []
    return change(clean, [*other_names, *own_names], profiles, key), change(clean, other_names, profiles, key)


def _draw_box(chance: Chance, pixels: Pixels) -> tuple[slice, slice]:
    top, left = (int(chance.integers(side - _CROP + 1)) for side in pixels.shape[:2])
    return np.s_[top : top + _CROP, left : left + _CROP]
