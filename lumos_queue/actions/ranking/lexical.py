"""BM25 by bm25s: the words of texts and queries, and the ranker that needs no weights.

The choice of words and the weight of titles were measured on the samples of MuSiQue and HotpotQA (`python -m
performance.retrieval_recall --title-weight N`). If titles count zero, one, two or three times, recall@5 of MuSiQue's
287 hops among all 3,635 paragraphs is 79, 85, 87 or 87.5 %. All supporting pages are found for 62, 68, 74 or 75 % of
HotpotQA's questions among the question's own pages, and for 43, 54, 59 or 58 % among all pages. If titles count four
times, the hops have 87.1 %. With stop words, recall of hops among their own paragraphs falls from 94 to 93 %. A Porter
stemmer is left out: it lowers the 87.5 % by two points and raises the 58 % by five. k1 and b have the library's values.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import re
from array import array
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lumos_queue.actions.ranking.base import RankerKind, split_title

if TYPE_CHECKING:
    from bm25s import BM25

TITLE_WEIGHT = 3  #: how often each word of a title counts
#: Words of questions that do not name their subject; the library's list lacks them.
_QUESTION_WORDS = "what which who whom whose when where why how do does did is are was were"

_WORD = re.compile(r"\w+")


@functools.cache
def bm25() -> type[BM25]:
    """Return bm25s's class. It is imported here, because that takes half a second (it imports scipy)."""
    from bm25s import BM25

    logging.getLogger("bm25s").setLevel(logging.WARNING)  # the library sets DEBUG, and logs every index
    return BM25


@functools.cache
def stop_words() -> frozenset[str]:
    """Return the words that are ignored in texts and queries."""
    from bm25s.stopwords import STOPWORDS_EN_PLUS

    return frozenset(STOPWORDS_EN_PLUS) | frozenset(_QUESTION_WORDS.split())


def words(text: str) -> list[str]:
    """Return the words of a text or a query in lower case, without stop words."""
    ignored_words = stop_words()
    return [word for word in _WORD.findall(text.lower()) if word not in ignored_words]


def weigh_words(title: str, text: str) -> list[str]:
    """Return the words of a title, TITLE_WEIGHT times, and of its text: repetition is a weight (simple BM25F)."""
    return words(title) * TITLE_WEIGHT + words(text)


class Lexicon:
    """Maps words to numbers; a new word gets the next number."""

    def __init__(self, numbers: Mapping[str, int] | None = None):
        self.numbers: dict[str, int] = dict(numbers or {})

    def number_words(self, tokens: Iterable[str]) -> array:
        """Return the numbers of the words, with 4 bytes each to save memory."""
        numbers = self.numbers
        return array("i", [numbers.setdefault(word, len(numbers)) for word in tokens])


def index(documents: list[array], lexicon: Lexicon) -> BM25 | None:
    """Return the BM25 index of documents, which are arrays of word numbers; None if there is no word."""
    if not lexicon.numbers:
        return None
    word_index = bm25()()
    word_index.index((documents, lexicon.numbers), create_empty_token=False, show_progress=False)
    return word_index


def score(index: BM25 | None, query: str, count: int) -> np.ndarray:
    """Return the scores of the `count` documents of an index, float32; all 0 if the query shares no word with them."""
    word_ids = index.get_tokens_ids(words(query)) if index is not None else []
    if index is None or not word_ids:
        return np.zeros(count, np.float32)
    return index.get_scores_from_ids(word_ids)


class Lexical:
    """Ranks by BM25 over the texts of a call alone: words that are rare in these texts count most."""

    name = "lexical"

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return the texts' scores, computed in a thread: thousands of texts take about 50 microseconds each."""
        return await asyncio.to_thread(_scores, query, texts)

    async def close(self) -> None:
        """Do nothing: the ranker has no resources."""


def _scores(query: str, texts: Sequence[str]) -> list[float]:
    lexicon = Lexicon()
    documents = [lexicon.number_words(weigh_words(*split_title(text))) for text in texts]
    return score(index(documents, lexicon), query, len(documents)).tolist()


def _open(_folder: Path | None) -> Lexical:
    return Lexical()


LEXICAL = RankerKind("", _open)
