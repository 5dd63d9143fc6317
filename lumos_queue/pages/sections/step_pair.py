"""Two episodes on one task in two columns, with a mark at their first difference."""

from __future__ import annotations

from collections.abc import Iterator

from lumos_queue.pages.blocks import Block, Table, Text
from lumos_queue.reports.episode_values import EpisodeReport
from lumos_queue.reports.step_pairs import EpisodePair

MARK = ">"  #: before the first pair of steps that differs


def step_pair(pair: EpisodePair) -> Iterator[Block]:
    """Yield the blocks of a pair of episodes."""
    first, second = pair.a, pair.b
    gold = f"  gold {first.gold}" if first.gold is not None else ""
    yield Text(f"{first.benchmark} row {first.row}{gold}")
    yield Text(first.question)
    heads = ["", *map(_head, (first, second))]
    index = pair.first_difference
    rows = [[MARK if number == index else "", step.a, step.b] for number, step in enumerate(pair.steps)]
    yield Table("", heads, rows, texts=frozenset({0, 1, 2}), ranks=(0, 0, 0))
    yield Text("they did and answered the same" if index is None else f"{MARK} they part at step {index + 1}")


def _head(episode: EpisodeReport) -> str:
    scores = " ".join(f"{score.metric} {score.value:g}" for score in episode.scores)
    return f"{episode.episode}\n{episode.formulation}  {scores}"
