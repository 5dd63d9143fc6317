"""How far two plans agree, without running either."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from lumos_queue.experts.plans import Plan


def is_exact(plan: Plan, gold: Plan) -> float:
    """1 where the plans are the same, branch by branch; else 0."""
    return float(plan == gold)


def overlap(plan: Plan, gold: Plan) -> float:
    """Names in common over all names, each as often as it is there, whatever their order (Jaccard of multisets)."""
    one, other = Counter(plan.names), Counter(gold.names)
    return (one & other).total() / total if (total := (one | other).total()) else 1.0


def order(plan: Plan, gold: Plan) -> float:
    """The longest common subsequence of names as they are written, over the longer plan's length."""
    longest = max(len(plan.names), len(gold.names))
    return _common(plan.names, gold.names) / longest if longest else 1.0


def name_difference(plan: Plan, gold: Plan) -> str:
    """What is missing and what is wasted, for a person; '' where neither is."""
    one, other = Counter(plan.names), Counter(gold.names)
    parts = (("missing", other - one), ("wasted", one - other))
    return "; ".join(f"{word}: {', '.join(sorted(found.elements()))}" for word, found in parts if found)


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Length of the longest common subsequence, by dynamic programming over rows."""
    row = [0] * (len(other) + 1)
    for name in one:
        above, row = row, [0]
        for place, candidate in enumerate(other):
            row.append(above[place] + 1 if name == candidate else max(above[place + 1], row[place]))
    return row[-1]
