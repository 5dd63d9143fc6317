"""The index of a corpus: the pages' texts in SQLite, and BM25 over their paragraphs. It is in memory or in a folder.

Paragraphs are ranked, together with the titles of their pages (actions/ranking/lexical.py); a page has the rank of its
best paragraph. A folder contains `texts.db` and the files of bm25s, which are mapped into memory instead of read.
"""

from __future__ import annotations

import sqlite3
import threading
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from lumos_queue.actions.qa.pages import MAX_PAGE, MAX_TITLE, TextPage, tidy, tidy_paragraphs
from lumos_queue.actions.qa.titles import key_of, titles_in
from lumos_queue.actions.ranking.lexical import Lexicon, bm25, index, score, weigh_words

if TYPE_CHECKING:
    from bm25s import BM25

PAGES = 5  #: how many pages a query finds (as the original took five search hits)
PARAGRAPHS = 200  #: how many paragraphs are ranked for them
FORMAT = 2  #: part of a cached index's name: increase it when words, weights, titles or tables change
_TABLES = """
CREATE TABLE page (id INTEGER PRIMARY KEY, title TEXT NOT NULL UNIQUE, key TEXT NOT NULL, facts TEXT NOT NULL);
CREATE INDEX page_by_key ON page (key);
CREATE TABLE paragraph (id INTEGER PRIMARY KEY, page INTEGER NOT NULL REFERENCES page, text TEXT NOT NULL);
CREATE INDEX paragraph_by_page ON paragraph (page);
"""


class Index:
    """Finds pages by title and by words. Its methods may be called from any thread."""

    def __init__(self, texts: sqlite3.Connection, words: BM25 | None):
        self._texts, self._words = texts, words
        self._lock = threading.Lock()
        (self._count,) = texts.execute("SELECT count(*) FROM paragraph").fetchone()

    @classmethod
    def build(cls, pages: Iterable[TextPage], folder: Path | None = None) -> Index:
        """Build the index of these pages, in `folder` or in memory. Pages of the same title become one page."""
        texts = sqlite3.connect(folder / "texts.db" if folder else ":memory:", check_same_thread=False)
        texts.executescript(_TABLES)
        lexicon, documents = Lexicon(), list[array]()
        for page in pages:
            _store(texts, page, lexicon, documents)
        texts.commit()
        words = index(documents, lexicon)
        if folder and words is not None:
            words.save(folder / "words", show_progress=False)
        return cls(texts, words)

    @classmethod
    def load(cls, folder: Path) -> Index:
        """Return the index that `build` wrote to the folder. It takes little memory, because it stays in the files."""
        texts = sqlite3.connect(f"{(folder / 'texts.db').as_uri()}?mode=ro", uri=True, check_same_thread=False)
        has_words = (folder / "words").is_dir()
        return cls(texts, bm25().load(folder / "words", mmap=True, show_progress=False) if has_words else None)

    def pages(self, query: str, count: int = PAGES) -> list[TextPage]:
        """Return the pages that a query names; if it names no page, the `count` pages whose paragraphs fit it best.

        `Ann, Bob` names two pages if there are pages called Ann and Bob.
        """
        with self._lock:
            if numbers := titles_in(query, self._pages_called):
                return [self._page(number, ()) for number in numbers]
            hits: dict[int, list[int]] = {}
            for position in self._rank(query, PARAGRAPHS):
                hits.setdefault(self._page_of(position), []).append(position)
            return [self._page(number, positions) for number, positions in list(hits.items())[:count]]

    def paragraphs(self, query: str, count: int) -> list[tuple[str, str]]:
        """Return (title, text) of the `count` paragraphs that fit the query best, best first."""
        with self._lock:
            return [self._paragraph(position) for position in self._rank(query, count)]

    def close(self) -> None:
        self._texts.close()

    def _rank(self, query: str, count: int) -> Iterator[int]:
        """Return the numbers of at most `count` paragraphs with a word of the query, the best first."""
        scores = score(self._words, query, self._count)
        limit = min(count, int(np.count_nonzero(scores)))
        if not limit:
            return iter(())
        top = np.argpartition(-scores, limit - 1)[:limit]
        return iter(top[np.lexsort((top, -scores[top]))].tolist())

    def _pages_called(self, title: str) -> list[int]:
        key = key_of(title)
        return [row[0] for row in self._texts.execute("SELECT id FROM page WHERE key = ? ORDER BY id", (key,))][:PAGES]

    def _page_of(self, paragraph: int) -> int:
        return self._texts.execute("SELECT page FROM paragraph WHERE id = ?", (paragraph,)).fetchone()[0]

    def _page(self, number: int, hits: Sequence[int]) -> TextPage:
        """Return the page with as many paragraphs as a value may have: the hits, then the first paragraphs."""
        title, facts = self._texts.execute("SELECT title, facts FROM page WHERE id = ?", (number,)).fetchone()
        paragraphs: dict[int, str] = {}
        room = MAX_PAGE
        for position in hits:
            paragraphs[position] = self._paragraph(position)[1]
            room -= len(paragraphs[position])
            if room < 0:
                break
        rows = self._texts.execute("SELECT id, text FROM paragraph WHERE page = ? ORDER BY id", (number,))
        for position, text in rows:
            if room < 0:
                break
            if position not in paragraphs:
                paragraphs[position] = text
                room -= len(text)
        return TextPage(title, [paragraphs[position] for position in sorted(paragraphs)], facts)

    def _paragraph(self, number: int) -> tuple[str, str]:
        return self._texts.execute(
            "SELECT title, text FROM paragraph JOIN page ON page.id = page WHERE paragraph.id = ?", (number,)
        ).fetchone()


def _store(texts: sqlite3.Connection, page: TextPage, lexicon: Lexicon, documents: list[array]) -> None:
    title = tidy(page.title)[:MAX_TITLE]
    texts.execute(
        "INSERT INTO page (title, key, facts) VALUES (?, ?, ?) ON CONFLICT (title) DO NOTHING",
        (title, key_of(title), page.table),
    )
    (number,) = texts.execute("SELECT id FROM page WHERE title = ?", (title,)).fetchone()
    for text in tidy_paragraphs(page.paragraphs):
        texts.execute("INSERT INTO paragraph VALUES (?, ?, ?)", (len(documents), number, text))
        documents.append(cast(array, lexicon.number_words(weigh_words(title, text))))
