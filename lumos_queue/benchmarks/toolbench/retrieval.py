"""Retrieve tools: the K APIs of a pool whose documents fit a query best, by words (BM25)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lumos_queue.actions.ranking.base import top_positions
from lumos_queue.actions.ranking.lexical import Lexicon, index, score, weigh_words

API = Mapping[str, Any]


class Pool:
    """A set of different APIs with an index of their documents."""

    def __init__(self, apis: Sequence[API]):
        self.apis = tuple({(api["category_name"], api["tool_name"], api["api_name"]): api for api in apis}.values())
        lexicon = Lexicon()
        self._index = index([lexicon.number_words(document_words(api)) for api in self.apis], lexicon)

    def best(self, query: str, count: int) -> list[API]:
        """Return the `count` APIs that fit a query best, the best first."""
        scores = score(self._index, query, len(self.apis)).tolist()
        return [self.apis[position] for position in top_positions(scores, count)]


def document_words(api: API) -> list[str]:
    """Return the words of an API's document: tool and API name as title, then category, description and arguments."""
    arguments = [*api["required_parameters"], *api["optional_parameters"]]
    argument_texts = [f"{argument.get('name', '')} {argument.get('description', '')}" for argument in arguments]
    text = " ".join([api["category_name"], api["api_description"], *argument_texts])
    return weigh_words(f"{api['tool_name']} {api['api_name']}", text)
