"""Lessons of the experts that describe pictures: labels of the whole picture, and the things in it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from lumos_queue.benchmarks.openagi.data.drawing import Scene, board_size
from lumos_queue.benchmarks.openagi.data.nouns import count_noun
from lumos_queue.benchmarks.openagi.data.pictures import WORDS
from lumos_queue.benchmarks.openagi.data.samples import load_sample
from lumos_queue.benchmarks.openagi.data.things import PLACES, THINGS
from lumos_queue.experts.backends.own.networks.viewer import CELL, SIDE, Viewer, ViewerOutput
from lumos_queue.training.experts.lesson import SPLIT, Chance, Lesson
from lumos_queue.training.experts.pictures import (
    PICTURES,
    change,
    draw_augmentations,
    draw_training_picture,
    scene_of,
    to_batch,
)

_BATCH = 16
_CHANGED = 0.3  #: share of pictures with augmentations: in plans, restored pictures keep a part of theirs
_NOTHING = 0.3  #: weight of a cell with nothing in its middle
_CELLS = SIDE // CELL
_KINDS, _PLACES = list(THINGS), list(PLACES)
_WORDS, _DIGITS = [word.en for word in WORDS], list("0123456789")
_QUESTIONS = 600  #: whose words are counted


class Mark(NamedTuple):
    """A thing in a picture: the number of its kind, and its position in pixels."""

    kind: int
    across: int  #: of its middle
    down: int
    left: int  #: of its left edge


Label = Callable[[Scene], Sequence[int]]  #: the right label of each group
FindMarks = Callable[[Scene], Sequence[Mark]]


def classification(expert: str, profiles: Sequence[str]) -> Lesson:
    """Return the lesson in which each picture has one label, the kind of object that it shows."""
    label: Label = lambda scene: [_KINDS.index(scene.spots[0].thing)]  # noqa: E731
    return _lesson(("labels",), {"groups": [_KINDS], "kinds": []}, label, _mark_things, profiles)


def detection(expert: str, profiles: Sequence[str]) -> Lesson:
    """Return the lesson in which the network learns only the things in a picture."""
    vocabulary = {"groups": [], "kinds": _KINDS}
    return _lesson(("objects", "captions"), vocabulary, lambda scene: [], _mark_things, profiles)


def description(expert: str, profiles: Sequence[str]) -> Lesson:
    """Return the lesson in which the network learns the things in a picture, and a label for the place."""
    phrases = {
        name: [count_noun(kind.noun, kind.adjective, count).en for count in range(1, 5)]
        for name, kind in THINGS.items()
    }
    vocabulary = {"groups": [[location.phrase.en for location in PLACES.values()]], "kinds": _KINDS, "phrases": phrases}
    label: Label = lambda scene: [_PLACES.index(scene.place)]  # noqa: E731
    return _lesson(("captions", "objects"), vocabulary, label, _mark_things, profiles)


def visual_questions(expert: str, profiles: Sequence[str]) -> Lesson:
    """Return the lesson with things, words, and the first and the second digit of a number, all detected as things."""
    kinds = [*_KINDS, *_WORDS, *_DIGITS, *_DIGITS]
    bounds = list(accumulate(map(len, (_KINDS, _WORDS, _DIGITS, _DIGITS)), initial=0))
    things, words, tens, ones = pairwise(bounds)
    vocabulary = {
        "groups": [],
        "kinds": kinds,
        "answers": [[words], [tens, ones], [things]],
        "topics": _count_topics(),
    }

    def mark(scene: Scene) -> Sequence[Mark]:
        word, number = scene.boards
        width, height = board_size(word.text)
        middle, down = word.left + width // 2, height // 2
        marks = [Mark(words[0] + _WORDS.index(word.text.lower()), middle, word.top + down, word.left)]
        for position, (digit, start) in enumerate(zip(number.text, (tens[0], ones[0]), strict=True)):
            left = number.left + 3 + 6 * position
            marks.append(Mark(start + int(digit), left + 3, number.top + down, left))
        return [*_mark_things(scene), *marks]

    return _lesson(("signs",), vocabulary, lambda scene: [], mark, profiles)


def _mark_things(scene: Scene) -> Sequence[Mark]:
    return [
        Mark(_KINDS.index(spot.thing), spot.left + spot.size // 2, spot.top + spot.size // 2, spot.left)
        for spot in scene.spots
    ]


def _lesson(
    sources: Sequence[str], vocabulary: Mapping[str, Any], label: Label, mark: FindMarks, profiles: Sequence[str]
) -> Lesson:
    shape = {"groups": [len(group) for group in vocabulary["groups"]], "kinds": len(vocabulary["kinds"])}
    network = Viewer(**shape)

    def loss(chance: Chance) -> Tensor:
        pictures, scenes = [], []
        for _ in range(_BATCH):
            source, number = sources[int(chance.integers(len(sources)))], int(chance.integers(PICTURES))
            augmentations = draw_augmentations(chance) if chance.random() < _CHANGED else []
            pictures.append(
                change(draw_training_picture(source, number), augmentations, profiles, int(chance.integers(1 << 40)))
            )
            scenes.append(scene_of(load_sample(source, SPLIT, number)))
        output: ViewerOutput = network(to_batch(pictures))
        labels = torch.tensor([list(label(scene)) for scene in scenes])
        losses = [functional.cross_entropy(logits, labels[:, group]) for group, logits in enumerate(output.groups)]
        if vocabulary["kinds"]:
            losses.append(_loss_of_points(output, [mark(scene) for scene in scenes]))
        return torch.stack(losses).sum()

    return Lesson(network, shape, loss, vocabulary)


def _loss_of_points(output: ViewerOutput, marks: Sequence[Sequence[Mark]]) -> Tensor:
    """Return the cross-entropy of the kind in each cell, plus the mean absolute difference of left edges in cells."""
    kinds = torch.zeros((len(marks), _CELLS, _CELLS), dtype=torch.long)
    offsets, near = torch.zeros(kinds.shape), torch.zeros(kinds.shape)
    for number, picture_marks in enumerate(marks):
        for mark in picture_marks:
            row, column = mark.down // CELL, mark.across // CELL
            kinds[number, row, column] = 1 + mark.kind
            for right in range(max(0, column - 1), min(_CELLS, column + 2)):
                rows = slice(max(0, row - 1), row + 2)
                offsets[number, rows, right] = mark.left / CELL - right
                near[number, rows, right] = 1
    weights = torch.ones(output.points.shape[1])
    weights[0] = _NOTHING
    offset_loss = ((output.offsets - offsets).abs() * near).sum() / near.sum()
    kind_loss = functional.cross_entropy(output.points, kinds, weights, reduction="sum") / (kinds > 0).sum()
    return kind_loss + offset_loss


def _count_topics() -> list[dict[str, float]]:
    """Return for each topic (word, number, thing) a mapping from a word of questions to a difference.

    The difference is the share of the word's questions that have the topic, minus one third.
    """
    counts: dict[str, Counter[int]] = defaultdict(Counter)
    for number in range(_QUESTIONS):
        sample = load_sample("signs", SPLIT, number)
        answer = sample.target.en
        topic = 1 if answer.isdecimal() else 2 if answer in THINGS else 0
        for word in set(sample.texts["question"].lower().split()):
            counts[word][topic] += 1
    return [
        {
            word: round(topic_counts[topic] / topic_counts.total() - 1 / 3, 4)
            for word, topic_counts in sorted(counts.items())
        }
        for topic in range(3)
    ]
