"""Run gold queries and load schemas on temporary copies of databases, as actions do, in threads that have no loop."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from lumos_queue.actions.sql.databases import Databases
from lumos_queue.actions.sql.tools import open_tools
from lumos_queue.settings import read_settings

Rows = Sequence[Sequence[Any]]

MAX_REMEMBERED = 4 << 20  #: characters of replies, as JSON
MAX_OPEN = 4  #: sets of tool options
IDLE_SECONDS = 60.0  #: without a query, after which the process ends


class GoldQueries:
    """Answers queries to the databases of one set of tool options, one query at a time. It caches recent replies.

    A child process runs the queries: it starts at the first query, and ends after `idle` seconds without a query.
    """

    def __init__(self, tools: Mapping[str, str], idle: float = IDLE_SECONDS):
        sql_tools = open_tools(tools)
        self._databases = Databases(sql_tools, read_settings() if sql_tools.server else None, children=1)
        self._idle = idle
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._replies: OrderedDict[tuple[str, ...], str] = (
            OrderedDict()
        )  # the latest used last; as JSON, because its size is known
        self._size = 0

    def rows(self, database: str, query: str) -> Rows:
        """Return the rows of a query. Raises ActionError, InfrastructureError."""
        return self._reply(database, query, "rows")

    def schema(self, database: str) -> str:
        """Return the schema: `Table hat has name (type: TEXT); Table …`. Raises ActionError, InfrastructureError."""
        return self._reply(database, "SHOW TABLES", "shown")

    def close(self) -> None:
        """End the process; the next query starts another process."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            asyncio.run(self._databases.close())

    def _reply(self, database: str, text: str, part: str) -> Any:
        with self._lock:
            key = (database, text, part)
            reply = self._replies.pop(key, None)
            if reply is None:
                reply = self._ask(database, text, part)
                self._size += len(reply)
            self._replies[key] = reply
            while self._size > MAX_REMEMBERED:
                self._size -= len(self._replies.popitem(last=False)[1])
        return json.loads(reply)

    def _ask(self, database: str, text: str, part: str) -> str:
        if self._timer is not None:
            self._timer.cancel()
        try:
            return json.dumps(asyncio.run(self._databases.ask(database, text))[part])
        finally:
            self._timer = threading.Timer(self._idle, self.close)
            self._timer.daemon = True
            self._timer.start()


_open: OrderedDict[tuple[tuple[str, str], ...], GoldQueries] = OrderedDict()
_open_lock = threading.Lock()


def open_queries(tools: Mapping[str, str]) -> GoldQueries:
    """Return the GoldQueries of these tool options, which all threads share. Raises SpecError as `open_tools` does."""
    key, oldest = tuple(sorted(tools.items())), None
    with _open_lock:
        queries = _open.pop(key, None) or GoldQueries(tools)
        _open[key] = queries
        if len(_open) > MAX_OPEN:
            _, oldest = _open.popitem(last=False)
    if oldest is not None:
        oldest.close()
    return queries
