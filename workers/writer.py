"""Group commits of a slice, one after the other, each sent again until the database has it."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from db.claiming import Claimed, Holder, Wish
from db.claims import Batch, commit, release_strays
from db.fence import Fenced
from workers.presence import Presence

log = logging.getLogger(__name__)
FIRST_WAIT, LONGEST_WAIT = 0.1, 2.0  #: seconds before a commit is sent again, doubled each time


class Writer:
    """PostgreSQL gets a thread of its own, so that the event loop does not wait for a server.

    SQLite is written to from the event loop: it takes a few milliseconds of this very process, and a thread that shares
    the interpreter with a busy loop takes many times as long (docs/decisions/0008).
    """

    def __init__(self, presence: Presence, job: Any):
        self._presence = presence
        self._holder = Holder(presence.session, presence.code_version, job)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="database")

    async def commit(self, batch: Batch, wish: Wish) -> list[Claimed]:
        """Write the batch and claim what is wished for. Whether an interrupted commit arrived is for the rows to say.

        Raises Fenced when this process may write no more, DBAPIError when sending it again would not help.
        """
        wait = FIRST_WAIT
        while True:
            try:
                if wait > FIRST_WAIT:
                    # The interrupted commit may have claimed items of which nobody here knows: they are owed again.
                    await self._run(release_strays, set(batch.claims))
                claimed = await self._run(commit, batch, wish)
                break
            except DBAPIError as error:
                if not (isinstance(error, OperationalError | InterfaceError) or error.connection_invalidated):
                    raise  # not the connection but what was sent: sending it again would fail again
                if self._presence.lost:
                    raise Fenced("the database could not be written for too long") from error
                log.warning("commit interrupted, trying again: %s", str(error).splitlines()[0])
                await asyncio.sleep(wait)
                wait = min(2 * wait, LONGEST_WAIT)
        if wait > FIRST_WAIT:  # or claimed again what the batch gives back
            ended = {one.item for one in (*batch.finished, *batch.given_back)}
            await self._run(release_strays, (batch.claims.keys() - ended) | {item.id for item in claimed})
        return claimed

    def close(self) -> None:
        self._thread.shutdown()

    async def _run(self, function: Any, *arguments: Any) -> Any:
        database = self._presence.database
        if database.is_sqlite:
            return function(database, self._holder, *arguments)
        return await asyncio.get_running_loop().run_in_executor(
            self._thread, function, database, self._holder, *arguments
        )
