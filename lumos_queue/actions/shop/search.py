"""The shop's search: BM25 over title, description, bullets and options, as in WebShop's Lucene index.

Lucene's form of BM25 with Pyserini's constants. English words lose their plural `s` (Harman's S-stemmer) instead of
Porter's endings. Products of equal scores keep the order of the file, so that a search is repeatable.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from lumos_queue.actions.shop.products import Product

K1, B = 0.9, 0.4  #: Pyserini's constants
MAX_WORDS = 400  #: of a query; the rest is ignored

_WORD = re.compile(r"[a-z0-9]+")
#: Lucene's English stop words.
_STOPS = """
    a an and are as at be but by for if in into is it no not of on or such that the their then there these they this
    to was will with
"""
_IGNORED = frozenset(_STOPS.split())


class SearchIndex:
    """Finds products by words. Building it takes about a second for 10,000 products."""

    def __init__(self, products: Sequence[Product]):
        from bm25s import BM25  # importing it takes half a second

        self._products = products
        self._index = BM25(k1=K1, b=B, method="lucene")
        self._index.index([words(_text(product)) or [""] for product in products], show_progress=False)

    def search(self, query: str, limit: int) -> list[Product]:
        """Return up to `limit` products that have a word of the query, best first."""
        known_words = [word for word in words(query)[:MAX_WORDS] if word in self._index.vocab_dict]
        if not known_words:
            return []
        scores = np.asarray(self._index.get_scores(known_words))
        best = np.argsort(-scores, kind="stable")[:limit]
        return [self._products[position] for position in best if scores[position] > 0]


def words(text: str) -> list[str]:
    """Return the words of a text that the index contains or a search looks for, in order."""
    return [_singular(word) for word in _WORD.findall(text.lower()) if word not in _IGNORED]


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies") and not word.endswith(("eies", "aies")):
        return f"{word[:-3]}y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("us", "ss")):
        return word[:-1]
    return word


def _text(product: Product) -> str:
    options = ", and ".join(f"{group}: {', '.join(values)}" for group, values in product.options.items())
    return " ".join((product.title, product.description, *product.bullets, options))
