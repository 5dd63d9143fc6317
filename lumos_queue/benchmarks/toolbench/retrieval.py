"""Tools that have to be found first: the K APIs of a pool whose documents fit a query best, by words (BM25)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lumos_queue.actions.ranking.base import top_positions
from lumos_queue.actions.ranking.lexical import Lexicon, index, score, weighed_words

API = Mapping[str, Any]


class Pool:
    """Different APIs with an index of their documents."""

    def __init__(self, apis: Sequence[API]):
        self.apis = tuple({(one["category_name"], one["tool_name"], one["api_name"]): one for one in apis}.values())
        lexicon = Lexicon()
        self._index = index([lexicon.number_words(document_words(one)) for one in self.apis], lexicon)

    def best(self, query: str, count: int) -> list[API]:
        """The `count` APIs that fit a query best, the best first."""
        scores = score(self._index, query, len(self.apis)).tolist()
        return [self.apis[position] for position in top_positions(scores, count)]


def document_words(api: API) -> list[str]:
    """The words of an API's document that count: its name as a title, its tool, category, description and arguments."""
    arguments = [*api["required_parameters"], *api["optional_parameters"]]
    said = [f"{one.get('name', '')} {one.get('description', '')}" for one in arguments]
    text = " ".join([api["category_name"], api["api_description"], *said])
    return weighed_words(f"{api['tool_name']} {api['api_name']}", text)
