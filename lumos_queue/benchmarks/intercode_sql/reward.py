"""Compute rewards from the rows of a query and of the gold query: InterCode's two rewards, and an order-aware reward.

InterCode's own reward (spec/lumos.md 6.2; `get_reward` of its SQL environment) compares rows as strings. Its first
factor is the intersection over the union of the two multisets of rows. Its second factor is Kendall's tau of the common
rows: in the agent's order and in gold's order, they are two lists, paired by position. The product is rounded to two
places. If tau is not defined, the reward is the first factor. InterCode's recorded runs have the first factor alone:
they contain an unrounded 0.875 although tau is 1, and a reward of 1 for reversed rows.

InterCode's rounding turns each product above 0.995 into a reward of exactly 1 (`success`). So two neighbours may be
exchanged in 29 or more rows, and one of 201 or more rows may be missing. `order_aware_reward` does not round.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Any

Row = Sequence[Any]


def iou_reward(rows: Sequence[Row], gold: Sequence[Row]) -> float:
    """Return the intersection over the union of the two multisets of rows, from 0 to 1; 1 for two empty results."""
    row_counts, gold_counts = Counter(_strings(rows)), Counter(_strings(gold))
    return (row_counts & gold_counts).total() / (row_counts | gold_counts).total() if row_counts or gold_counts else 1.0


def original_reward(rows: Sequence[Row], gold: Sequence[Row]) -> float:
    """Return `iou_reward` times Kendall's tau, from -1 to 1, rounded to two places; 1 for two empty results."""
    row_texts, gold_texts = _strings(rows), _strings(gold)
    reward, common = iou_reward(rows, gold), Counter(row_texts) & Counter(gold_texts)
    tau = kendall_tau(_in_order(row_texts, common), _in_order(gold_texts, common))
    return reward if tau is None else round(tau * reward, 2)


def order_aware_reward(rows: Sequence[Row], gold: Sequence[Row], needs_order: bool) -> float:
    """Return 1 for the same multiset of rows, in gold's order if `needs_order`; else 0."""
    row_texts, gold_texts = _strings(rows), _strings(gold)
    return float(row_texts == gold_texts if needs_order else Counter(row_texts) == Counter(gold_texts))


def kendall_tau(first: Sequence[str], second: Sequence[str]) -> float | None:
    """Return Kendall's tau-b of the pairs (first[i], second[i]), compared by code point; None if it is not defined.

    Tau-b is (P - Q) / sqrt((P + Q + T) (P + Q + U)), with P concordant and Q discordant pairs, T pairs that are tied
    only in `first`, and U pairs that are tied only in `second` (Kendall, Rank Correlation Methods, 1970). Q is computed
    by counting inversions, in n log n steps (Knight, JASA 61, 1966).
    """
    pairs = sorted(zip(first, second, strict=True))
    size = len(pairs)
    total = size * (size - 1) // 2
    tied_first = _count_ties([text for text, _ in pairs])
    tied_second = _count_ties(sorted(second))
    tied_both = _count_ties(pairs)
    discordant = _inversions([text for _, text in pairs])[1]
    if tied_first == total or tied_second == total:
        return None
    difference = total - tied_first - tied_second + tied_both - 2 * discordant
    tau = difference / math.sqrt(total - tied_first) / math.sqrt(total - tied_second)
    return min(1.0, max(-1.0, tau))


def _count_ties(ordered_list: Sequence[Any]) -> int:
    """Count the pairs of equal elements of a sorted list."""
    return sum(count * (count - 1) // 2 for count in (len(list(group)) for _, group in groupby(ordered_list)))


def _inversions(items: list[str]) -> tuple[list[str], int]:
    """Return the sorted items, and the number of pairs in the wrong order."""
    if len(items) < 2:
        return items, 0
    middle = len(items) // 2
    (left, before), (right, after) = _inversions(items[:middle]), _inversions(items[middle:])
    merged_texts, count, position = [], before + after, 0
    for text in left:
        while position < len(right) and right[position] < text:
            merged_texts.append(right[position])
            position += 1
        merged_texts.append(text)
        count += position
    return merged_texts + right[position:], count


def _strings(rows: Sequence[Row]) -> list[str]:
    return [str(tuple(row)) for row in rows]


def _in_order(rows: Sequence[str], common: Counter[str]) -> list[str]:
    """Return the common rows, with their common multiplicity, in the order of `rows`."""
    remaining, common_rows = Counter(common), []
    for row in rows:
        if remaining[row]:
            remaining[row] -= 1
            common_rows.append(row)
    return common_rows
