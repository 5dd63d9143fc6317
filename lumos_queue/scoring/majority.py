"""Take majority votes over the answers of samples: self-consistency (X. Wang et al., arXiv:2203.11171, 2023)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from lumos_queue.scoring.answer_kinds import AnswerKind
from lumos_queue.scoring.letters import read_choice
from lumos_queue.scoring.numeric import read_number
from lumos_queue.scoring.spans import normalize
from lumos_queue.scoring.yes_no import read_yes_no

#: What two answers have in common that are the same; None of an answer that has no vote.
Vote = Hashable | None


def read_vote(answer: str | None, kind: AnswerKind, choices: Sequence[str] = ()) -> Vote:
    """Return the vote of an answer: its number, its choice, yes or no, or otherwise its normalized words.

    `choices` are the choices of the task, for the kind CHOICE. Return None without an answer.
    """
    if answer is None:
        return None
    value: Vote = None
    if kind == AnswerKind.NUMBER:
        value = read_number(answer)
    elif kind == AnswerKind.CHOICE and choices:
        value = read_choice(answer, choices)
    elif kind == AnswerKind.YES_NO:
        value = read_yes_no(answer)
    return (kind.value, value) if value is not None else ("words", normalize(answer))


def majority_score(votes: Sequence[Vote], scores: Sequence[float]) -> float:
    """Return the score of the answer with the most votes, from 0 to 1; for a tie, the mean over the tied answers.

    `scores` has the score of each sample. If a strict scorer gave equal answers different scores, their mean counts.
    Return 0 without any vote.
    """
    counts = Counter(vote for vote in votes if vote is not None)
    if not counts:
        return 0.0
    largest = max(counts.values())
    winners = [vote for vote, count in counts.items() if count == largest]
    total = sum(score for vote, score in zip(votes, scores, strict=True) if vote in winners)
    return total / (largest * len(winners))


def majority_at(k: int, votes: Sequence[Vote], scores: Sequence[float]) -> float:
    """Return the mean of `majority_score` over groups of `k` consecutive samples; remaining samples are left out.

    The groups share no sample, so the mean is unbiased. Raises ValueError for fewer samples than `k`.
    """
    if not 0 < k <= len(votes):
        raise ValueError(f"{len(votes)} samples have no group of {k}")
    starts = range(0, len(votes) - k + 1, k)
    return sum(majority_score(votes[start : start + k], scores[start : start + k]) for start in starts) / len(starts)
