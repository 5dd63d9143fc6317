"""Search and read the live Wikipedia through the MediaWiki action API (https://www.mediawiki.org/wiki/API:Main_page).

LUMOS reads Wikipedia's search page, and asks Google if that fails (spec/lumos.md 5.2). This module uses the wiki's own
search for both. That has an interface for programs, needs no key, and finds only the wiki's pages.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from typing import TypeVar
from urllib.parse import quote, unquote, urlencode, urljoin

from lumos_queue.errors import ActionError, InfrastructureError
from lumos_queue.execution.tools.article import Article, read_article
from lumos_queue.execution.tools.http import FetchedPage, GuardedHttp
from lumos_queue.records import Execution, Json, JsonObject

API = "https://{language}.wikipedia.org/w/api.php"
EXACT_PARAGRAPHS, OTHER_PARAGRAPHS = 40, 15  #: kept of a page; LUMOS counts sentences
TOP = 5  #: articles that are read when no title equals the query
MAX_HITS = 10
MAX_CHARACTERS = 300  #: of a query: the limit of the API
MAXLAG = 5  #: seconds by which its database copies may lag before the API requests a later retry
_LANGUAGE = re.compile(r"[a-z]{2,12}(-[a-z]{2,12}){0,2}")
_LATER = ("maxlag", "ratelimited", "readonly")
_MISSING = ("missingtitle", "invalidtitle", "pagecannotexist", "nosuchpageid")
P = TypeVar("P", dict[str, Json], list[Json], str)  # a part of an answer


class Wikipedia:
    """The tools `wikipedia` and `search`. `api`: address of the API, which may contain {language}."""

    def __init__(self, http: GuardedHttp, api: str = API):
        self._http, self._api = http, api

    async def wikipedia(self, arguments: JsonObject, key: str) -> Execution:
        """Return the article that `query` names, or the articles that it finds. `language`: 'en' by default.

        For the address or the title of an article, ignoring case and after redirects, return that article. For a title
        with several meanings, return up to 10 of the listed articles. For any other text, return the first 5 hits.
        The value: {"kind": "pages", "text": titles, "pages": [{"title", "paragraphs", "table"}]}.
        Raises ActionError of kind bad_arguments, not_found, refused, bad_reply or too_large; InfrastructureError.
        """
        query, language = _query(arguments), _language(arguments)
        title = self._title(query, language)
        if not title:
            title = next(iter(await self._find(query, language, "nearmatch", 1, key)), "")
        if title:
            title, article, several = await self._page(title, language, EXACT_PARAGRAPHS, key)
            if not several:
                return _pages([(title, article)])
            titles: Sequence[str] = article.links
        else:
            titles = await self._find(query, language, "text", TOP, key)
        pages: list[tuple[str, Article]] = []
        for candidate in titles:
            try:
                name, article, several = await self._page(candidate, language, OTHER_PARAGRAPHS, key)
            except ActionError as error:
                if error.kind != "not_found":
                    raise
            else:
                if not several:
                    pages.append((name, article))
        if not pages:
            raise ActionError("not_found", f"Wikipedia has no article for '{query}'")
        return _pages(pages)

    async def search(self, arguments: JsonObject, key: str) -> Execution:
        """Return the hits of the wiki's search, best first. Arguments: `query`, `limit` (default 3), `language` ('en').

        It replaces LUMOS's Google search, which reads only hits on Wikipedia.
        The value: {"kind": "hits", "text": titles, "hits": [{"title", "url"}]}. Raises as `wikipedia` does.
        """
        query, language = _query(arguments), _language(arguments)
        limit = arguments.get("limit", 3)
        if not isinstance(limit, int) or not 1 <= limit <= MAX_HITS:
            raise ActionError("bad_arguments", f"limit must be a number from 1 to {MAX_HITS}")
        titles = await self._find(query, language, "text", limit, key)
        if not titles:
            raise ActionError("not_found", f"Wikipedia's search finds nothing for '{query}'")
        hits = [{"title": title, "url": self._address(title, language)} for title in titles]
        text = "; ".join(titles)
        return Execution("ok", text, ({"kind": "hits", "text": text, "hits": hits},))

    def _address(self, title: str, language: str) -> str:
        return urljoin(self._api.format(language=language), "/wiki/" + quote(title.replace(" ", "_")))

    def _title(self, query: str, language: str) -> str:
        """Return the title in an article's address; '' if the query is no address.

        Raises ActionError of kind 'refused' for an address of another server.
        """
        if " " in query or not (query.startswith("/wiki/") or "://" in query):
            return ""
        if query.startswith("/wiki/"):
            query = urljoin(self._api.format(language=language), query)
        target, home = self._http.guard.check(query), self._http.guard.check(self._api.format(language=language))
        if target.authority != home.authority or not target.path.startswith("/wiki/"):
            raise ActionError("refused", f"'{target.url[:200]}' is not asked: only articles of {home.authority} are")
        return unquote(target.path.removeprefix("/wiki/")).replace("_", " ")[:MAX_CHARACTERS]

    async def _find(self, query: str, language: str, search_kind: str, limit: int, key: str) -> list[str]:
        """Return titles, best first. `search_kind`: 'nearmatch' (a similar title) or 'text'."""
        reply = await self._ask(
            language,
            key,
            action="query",
            list="search",
            srsearch=query,
            srwhat=search_kind,
            srlimit=limit,
            srprop="",
            srnamespace=0,
        )
        hits = _part(_part(reply, "query", dict), "search", list)
        return [_part(hit, "title", str)[:MAX_CHARACTERS] for hit in hits[:limit]]

    async def _page(self, title: str, language: str, paragraphs: int, key: str) -> tuple[str, Article, bool]:
        """Return the title after redirects, the article, and whether it only lists the meanings of a name."""
        reply = await self._ask(
            language,
            key,
            action="parse",
            page=title,
            prop="text|properties",
            redirects=1,
            disableeditsection=1,
            disabletoc=1,
            disablelimitreport=1,
        )
        page = _part(reply, "parse", dict)
        name, html = _part(page, "title", str)[:MAX_CHARACTERS], _part(page, "text", str)
        article = await asyncio.to_thread(read_article, html, paragraphs)
        properties = page.get("properties")
        several = isinstance(properties, dict) and "disambiguation" in properties
        return name, article, several

    async def _ask(self, language: str, key: str, **parameters: str | int) -> JsonObject:
        """Return the API's answer. Raises ActionError or InfrastructureError if the answer is an error."""
        common = {"format": "json", "formatversion": 2, "errorformat": "plaintext", "maxlag": MAXLAG}
        address = f"{self._api.format(language=language)}?{urlencode(common | parameters)}"
        reply = await self._http.get(address, ["application/json"], {"Idempotency-Key": key} if key else None)
        answer = await asyncio.to_thread(_read, reply)
        errors = answer.get("errors")
        if isinstance(errors, list) and errors:
            error = errors[0]
            raise self._error(error if isinstance(error, dict) else {}, reply, parameters)
        return answer

    def _error(self, error: JsonObject, reply: FetchedPage, parameters: JsonObject) -> Exception:
        code = str(error.get("code", "unknown"))[:60]
        if code in _LATER:
            wait = self._http.pause(reply.url, reply.headers.get("retry-after", ""))
            return InfrastructureError(f"Wikipedia asks to come later: {code}", wait)
        if code in _MISSING:
            return ActionError("not_found", f"Wikipedia has no article '{parameters.get('page', '')}'")
        return ActionError("bad_reply", f"Wikipedia answers '{code}': {str(error.get('text', ''))[:200]}")


def _pages(pages: Sequence[tuple[str, Article]]) -> Execution:
    text = "; ".join(title for title, _ in pages)
    page_rows = [
        {"title": title, "paragraphs": list(article.paragraphs), "table": article.table} for title, article in pages
    ]
    return Execution("ok", text, ({"kind": "pages", "text": text, "pages": page_rows},))


def _query(arguments: JsonObject) -> str:
    query = arguments.get("query")
    words = (
        "".join(character if character.isprintable() else " " for character in query).split()
        if isinstance(query, str)
        else []
    )
    if not words:
        raise ActionError("bad_arguments", "query must be a text with at least one word")
    return " ".join(words)[:MAX_CHARACTERS]


def _language(arguments: JsonObject) -> str:
    language = arguments.get("language", "en")
    if not isinstance(language, str) or not _LANGUAGE.fullmatch(language):
        raise ActionError("bad_arguments", "language must be a code such as 'en' or 'zh-yue'")
    return language


def _read(reply: FetchedPage) -> JsonObject:
    try:
        answer: Json = json.loads(reply.body)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise ActionError("bad_reply", f"{reply.url.partition('?')[0]} sends no JSON object")
    return answer


def _part(value: Json, name: str, kind: type[P]) -> P:
    part = value.get(name) if isinstance(value, dict) else None
    if not isinstance(part, kind):
        raise ActionError("bad_reply", f"Wikipedia's answer has no '{name}'")
    return part
