"""Lessons of the experts that say what a picture shows: labels of the whole, and the things in it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from lumos_queue.benchmarks.openagi.data.drawing import Scene, Spot
from lumos_queue.benchmarks.openagi.data.nouns import count_noun
from lumos_queue.benchmarks.openagi.data.pictures import WORDS
from lumos_queue.benchmarks.openagi.data.samples import load_sample
from lumos_queue.benchmarks.openagi.data.things import PLACES, THINGS
from lumos_queue.experts.backends.own.networks.viewer import CELL, SIDE, Seen, Viewer
from lumos_queue.training.experts.lesson import SPLIT, Chance, Lesson
from lumos_queue.training.experts.pictures import (
    PICTURES,
    change,
    draw_augmentations,
    scene_of,
    to_batch,
    training_picture,
)

_BATCH = 32
_CHANGED = 0.3  #: of the pictures have augmentations: in plans they were restored, and not wholly
_NOTHING = 0.3  #: weight of a cell with nothing in its middle
_CELLS = SIDE // CELL
_KINDS, _PLACES = list(THINGS), list(PLACES)
_WORDS, _DIGITS = [one.en for one in WORDS], list("0123456789")
_QUESTIONS = 600  #: that are counted
Label = Callable[[Scene], Sequence[int]]  #: the right label of each group


def classification(expert: str, profiles: Sequence[str]) -> Lesson:
    vocabulary = {"groups": [_KINDS]}
    return _lesson(("labels",), vocabulary, lambda scene: [_KINDS.index(scene.spots[0].thing)], False, profiles)


def detection(expert: str, profiles: Sequence[str]) -> Lesson:
    return _lesson(("objects", "captions"), {"groups": [], "kinds": _KINDS}, lambda scene: [], True, profiles)


def captioning(expert: str, profiles: Sequence[str]) -> Lesson:
    phrases = {
        name: [count_noun(one.noun, one.adjective, count).en for count in range(1, 5)] for name, one in THINGS.items()
    }
    places = [one.phrase.en for one in PLACES.values()]
    vocabulary = {"groups": [places], "kinds": _KINDS, "phrases": phrases}
    return _lesson(("captions", "objects"), vocabulary, lambda scene: [_PLACES.index(scene.place)], True, profiles)


def visual_questions(expert: str, profiles: Sequence[str]) -> Lesson:
    """What the sign with a word says, both digits of the other, and the thing beside them."""
    vocabulary = {
        "groups": [_WORDS, _DIGITS, _DIGITS, _KINDS],
        "answers": [[0], [1, 2], [3]],
        "topics": _count_topics(),
    }

    def label(scene: Scene) -> Sequence[int]:
        word, number = (one.text for one in scene.boards)
        return [_WORDS.index(word.lower()), int(number[0]), int(number[1]), _KINDS.index(scene.spots[0].thing)]

    return _lesson(("signs",), vocabulary, label, False, profiles)


def _lesson(
    sources: Sequence[str], vocabulary: Mapping[str, Any], label: Label, points: bool, profiles: Sequence[str]
) -> Lesson:
    kinds = len(vocabulary["kinds"]) if points else 0
    shape = {"groups": [len(one) for one in vocabulary["groups"]], "kinds": kinds}
    network = Viewer(**shape)

    def loss(chance: Chance) -> Tensor:
        pictures, scenes = [], []
        for _ in range(_BATCH):
            source, number = sources[int(chance.integers(len(sources)))], int(chance.integers(PICTURES))
            changed = draw_augmentations(chance) if chance.random() < _CHANGED else []
            pictures.append(change(training_picture(source, number), changed, profiles, int(chance.integers(1 << 40))))
            scenes.append(scene_of(load_sample(source, SPLIT, number)))
        seen: Seen = network(to_batch(pictures))
        labels = torch.tensor([list(label(scene)) for scene in scenes])
        losses = [functional.cross_entropy(logits, labels[:, group]) for group, logits in enumerate(seen.groups)]
        return torch.stack([*losses, *([_loss_of_points(seen, scenes)] if points else [])]).sum()

    return Lesson(network, shape, loss, vocabulary)


def _loss_of_points(seen: Seen, scenes: Sequence[Scene]) -> Tensor:
    kinds = torch.zeros((len(scenes), _CELLS, _CELLS), dtype=torch.long)
    offsets, near = torch.zeros(kinds.shape), torch.zeros(kinds.shape)
    for number, scene in enumerate(scenes):
        for spot in scene.spots:
            row, column = _cell(spot)
            kinds[number, row, column] = 1 + _KINDS.index(spot.thing)
            for right in range(max(0, column - 1), min(_CELLS, column + 2)):
                rows = slice(max(0, row - 1), row + 2)
                offsets[number, rows, right] = spot.left / CELL - right
                near[number, rows, right] = 1
    weights = torch.ones(seen.points.shape[1])
    weights[0] = _NOTHING
    apart = ((seen.offsets - offsets).abs() * near).sum() / near.sum()
    found = functional.cross_entropy(seen.points, kinds, weights, reduction="sum") / (kinds > 0).sum()
    return found + apart


def _cell(spot: Spot) -> tuple[int, int]:
    """The row and column of the cell that has the thing's middle."""
    return (spot.top + spot.size // 2) // CELL, (spot.left + spot.size // 2) // CELL


def _count_topics() -> list[dict[str, float]]:
    """For each topic (word, number, thing) how much likelier than by chance a question with a word is about it."""
    counts: dict[str, Counter[int]] = defaultdict(Counter)
    for number in range(_QUESTIONS):
        sample = load_sample("signs", SPLIT, number)
        answer = sample.target.en
        topic = 1 if answer.isdecimal() else 2 if answer in THINGS else 0
        for word in set(sample.texts["question"].lower().split()):
            counts[word][topic] += 1
    return [
        {word: round(found[topic] / found.total() - 1 / 3, 4) for word, found in sorted(counts.items())}
        for topic in range(3)
    ]
