"""Rank the candidates of a page by how well they fit an action's query (spec/lumos.md 5.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lumos_queue.actions.ranking.base import Ranker, join_title, top_positions
from lumos_queue.actions.web.candidates import parts

SHOWN_RANKS = 10  #: candidates in a result, the best first: as many as AgentBench reads
_HISTORY = 3  #: earlier actions in the query of MindAct's model


async def rank_candidates(
    ranker: Ranker, is_fitted: bool, query: str, previous: Sequence[str], candidates: Sequence[Mapping[str, Any]]
) -> list[tuple[int, float]]:
    """Return (position, score) of the best candidates, the best first; equal scores keep the order of the page.

    `is_fitted`: whether the ranker was trained on MindAct's texts. Such a ranker gets queries and texts in MindAct's
    form. Another ranker gets only the query, and texts with an element's words as title and its surroundings as text.
    """
    if is_fitted:
        query = f"task is: {query}\nPrevious actions: {'; '.join(previous[-_HISTORY:])}"
        texts = [candidate["text"] for candidate in candidates]
    else:
        texts = [
            join_title(target, ancestors)
            for ancestors, target in (parts(candidate["text"]) for candidate in candidates)
        ]
    scores = await ranker.scores(query, texts)
    return [(position, scores[position]) for position in top_positions(scores, SHOWN_RANKS)]


def with_option(query: str, option: str) -> str:
    """Return the query of the action SELECT, extended by the option's text."""
    return f"{query} The option contents should be close to '{option}'."
