"""Compute chrF of two texts (Popović 2015): the F-score of character n-grams up to 6, in which recall counts twice.

chrF is a proxy that never replaces BERTScore. It equals sacrebleu's sentence-level chrF2: spaces are ignored, and the
mean leaves out each n for which either text is too short.
"""

from __future__ import annotations

from collections import Counter

ORDER, BETA = 6, 2


def chrf(candidate: str, reference: str) -> float:
    """Return the chrF score of a candidate against a reference, from 0 to 1."""
    candidate_text, reference_text = "".join(candidate.split()), "".join(reference.split())
    precisions, recalls = 0.0, 0.0
    orders = 0
    for length in range(1, ORDER + 1):
        candidate_counts, theirs = _count(candidate_text, length), _count(reference_text, length)
        if not candidate_counts or not theirs:
            continue
        common = (candidate_counts & theirs).total()
        precisions, recalls, orders = (
            precisions + common / candidate_counts.total(),
            recalls + common / theirs.total(),
            orders + 1,
        )
    if not orders or not precisions + recalls:
        return 0.0
    precision, recall = precisions / orders, recalls / orders
    return (1 + BETA**2) * precision * recall / (BETA**2 * precision + recall)


def _count(text: str, length: int) -> Counter[str]:
    return Counter(text[start : start + length] for start in range(len(text) - length + 1))
