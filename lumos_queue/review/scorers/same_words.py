"""A scorer for all benchmarks: it compares an answer with the gold answer by exact match and F1, as for SQuAD."""

from __future__ import annotations

from collections.abc import Mapping

from db.queries.trajectories import StoredEpisode
from lumos_queue.review.scorers.base import Scorer
from lumos_queue.scoring.spans import exact_match, f1, read_answer


def same_words(episode: StoredEpisode) -> Mapping[str, float] | None:
    """Return the scores of an episode; None if the gold answer is no text or number. A missing answer is wrong."""
    gold = episode.task.gold.get("answer") if isinstance(episode.task.gold, Mapping) else None
    if not isinstance(gold, str | int | float):
        return None
    answer = read_answer(episode.answer or "")
    return {"same_words": float(exact_match(answer, str(gold))), "word_f1": f1(answer, str(gold))}


SAME_WORDS = Scorer("same_words", same_words, metrics=("same_words", "word_f1"))
