"""Measures of how far two plans agree. Neither plan is run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from lumos_queue.experts.plans import Plan


def is_exact(plan: Plan, gold: Plan) -> float:
    """Return 1 if the plans are the same, branch by branch, else 0."""
    return float(plan == gold)


def overlap(plan: Plan, gold: Plan) -> float:
    """Return the Jaccard index of the two multisets of names, from 0 to 1. The order of names does not count."""
    plan_names, gold_names = Counter(plan.names), Counter(gold.names)
    return (plan_names & gold_names).total() / total if (total := (plan_names | gold_names).total()) else 1.0


def order(plan: Plan, gold: Plan) -> float:
    """Return the length of the longest common subsequence of names, divided by the length of the longer plan."""
    longest = max(len(plan.names), len(gold.names))
    return _common(plan.names, gold.names) / longest if longest else 1.0


def name_difference(plan: Plan, gold: Plan) -> str:
    """Return text for a person with the names that the plan lacks and those that it has in excess; '' if none."""
    plan_names, gold_names = Counter(plan.names), Counter(gold.names)
    parts = (("missing", gold_names - plan_names), ("wasted", plan_names - gold_names))
    return "; ".join(f"{word}: {', '.join(sorted(names.elements()))}" for word, names in parts if names)


def _common(left: Sequence[str], right: Sequence[str]) -> int:
    """Return the length of the longest common subsequence, by dynamic programming over rows."""
    row = [0] * (len(right) + 1)
    for name in left:
        above, row = row, [0]
        for column, candidate in enumerate(right):
            row.append(above[column] + 1 if name == candidate else max(above[column + 1], row[column]))
    return row[-1]
