"""Which conversations an optimizer step sees: a function of (seed, step) alone."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np

from lumos_queue.errors import SpecError
from lumos_queue.training.masks import Example

BUCKETS = 24  #: groups of conversations of similar length; padding then costs a few per cent


def step_seed(seed: int, step: int) -> int:
    """A 63-bit value from sha256, the same on every machine."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{step}".encode()).digest()[:8], "big") >> 1


class Batches:
    """Draws conversations of similar length, each data set with its own share of the tokens.

    `names` gives the data set of each example; `shares` maps a prefix of such a name to a weight (the longest prefix
    counts; without `shares` every example is equally likely). Raises SpecError when a name has no share.
    """

    def __init__(self, examples: Sequence[Example], names: Sequence[str], shares: Mapping[str, float], tokens: int):
        if not examples:
            raise SpecError("There are no conversations to train on.")
        self.examples, self.tokens = examples, tokens
        lengths = np.array([len(example.ids) for example in examples])
        weights = lengths * _token_weights(names, shares, lengths)
        order = np.argsort(lengths, kind="stable")
        running = np.cumsum(weights[order])
        edges = np.searchsorted(running, running[-1] * np.arange(1, BUCKETS) / BUCKETS)
        #: Buckets of equal weight in tokens, so that each may be drawn with the same chance.
        self.buckets = [bucket for bucket in np.split(order, edges) if len(bucket)]
        self.chances = [np.cumsum(weights[bucket] / lengths[bucket]) for bucket in self.buckets]
        self.bucket_chances = np.cumsum([weights[bucket].sum() for bucket in self.buckets])

    def draw(self, seed: int, step: int) -> list[Example]:
        """The examples of one step: as many as fit into `tokens`, padding included, and at least one."""
        random = np.random.default_rng(step_seed(seed, step))
        number = _pick(self.bucket_chances, random)
        bucket, chances = self.buckets[number], self.chances[number]
        chosen, longest = [], 0
        while True:
            example = self.examples[bucket[_pick(chances, random)]]
            longest = max(longest, len(example.ids))
            if chosen and longest * (len(chosen) + 1) > self.tokens:
                return chosen
            chosen.append(example)


def _pick(running: np.ndarray, random: np.random.Generator) -> int:
    """An index with the chance its step in the running sum has."""
    return min(int(np.searchsorted(running, random.random() * running[-1], side="right")), len(running) - 1)


def _token_weights(names: Sequence[str], shares: Mapping[str, float], lengths: np.ndarray) -> np.ndarray:
    """One weight per example, such that the tokens of each share's examples add up to the share."""
    if not shares:
        return np.ones(len(names))
    prefixes = sorted(shares, key=len, reverse=True)
    owner = []
    for name in names:
        mine = next((index for index, prefix in enumerate(prefixes) if name.startswith(prefix)), None)
        if mine is None:
            raise SpecError(f"The data set '{name}' has no share. Shares are given for: {', '.join(sorted(shares))}.")
        owner.append(mine)
    totals = np.bincount(owner, weights=lengths, minlength=len(prefixes))
    return np.array([shares[prefixes[mine]] / totals[mine] for mine in owner])
