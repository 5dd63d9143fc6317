"""A small library to search: articles written for this project, about places and people that do not exist.

Each line of `articles.jsonl` is an object with `title` and `text`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lumos_queue.actions.ranking.base import join_title, top_positions
from lumos_queue.actions.ranking.lexical import Lexical
from lumos_queue.util.untrusted_json import read_json

FOUND = 3  #: articles of one search, at most
_FILE = Path(__file__).with_name("articles.jsonl")


@dataclass(frozen=True, slots=True)
class LibraryArticle:
    title: str
    text: str


@cache
def read_articles() -> tuple[LibraryArticle, ...]:
    """Return all articles. A process reads the file only once."""
    rows = map(read_json, _FILE.read_text(encoding="utf-8").splitlines())
    return tuple(LibraryArticle(row["title"], row["text"]) for row in rows)


async def search_articles(query: str) -> list[LibraryArticle]:
    """Return up to FOUND articles that contain words of the query, best first by BM25; [] if no article does."""
    articles = read_articles()
    scores = await Lexical().scores(query, [join_title(article.title, article.text) for article in articles])
    return [articles[position] for position in top_positions(scores, FOUND) if scores[position] > 0]
