"""Gold queries and schemas, answered by the same throw-away copies that actions run on; for threads without a loop."""

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
IDLE_SECONDS = 60.0  #: after which the process that answers is ended


class GoldQueries:
    """The databases of one set of tool options: one question at a time, recent answers are remembered.

    The process that answers is started when it is needed and ended when it was not for `idle` seconds.
    """

    def __init__(self, tools: Mapping[str, str], idle: float = IDLE_SECONDS):
        sql_tools = open_tools(tools)
        self._databases = Databases(sql_tools, read_settings() if sql_tools.server else None, children=1)
        self._idle = idle
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._replies: OrderedDict[tuple[str, ...], str] = (
            OrderedDict()
        )  # latest use last; JSON has the size that it has
        self._size = 0

    def rows(self, database: str, query: str) -> Rows:
        """The rows of a query. Raises ActionError, InfrastructureError."""
        return self._reply(database, query, "rows")

    def schema(self, database: str) -> str:
        """`Table hat has name (type: TEXT); Table …`. Raises ActionError, InfrastructureError."""
        return self._reply(database, "SHOW TABLES", "shown")

    def close(self) -> None:
        """End the process; another question starts a new one."""
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
    """The same for the same options, whichever thread asks. Raises SpecError as `open_tools` does."""
    key, oldest = tuple(sorted(tools.items())), None
    with _open_lock:
        queries = _open.pop(key, None) or GoldQueries(tools)
        _open[key] = queries
        if len(_open) > MAX_OPEN:
            _, oldest = _open.popitem(last=False)
    if oldest is not None:
        oldest.close()
    return queries
