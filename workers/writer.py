"""Group commits of a slice, one after the other, each sent again until the database has it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy.exc import DBAPIError

from db.claims import NOTHING, Claimed, Holder, Wish
from db.commit import Batch, commit, end_refused, release_strays
from db.errors import blames_rows, reason, retryable
from db.fence import Fenced
from lumos_queue.errors import LumosError
from workers.session import Presence

log = logging.getLogger(__name__)
ALONE = 3  #: claims after which an item that is refused alone is to blame, though nothing else was written beside it
FIRST_WAIT, LONGEST_WAIT = 0.1, 2.0  #: seconds before a commit is sent again, doubled each time


class CommitRefused(LumosError):
    """Raised when the database refuses what a slice writes, and no item in particular is to blame: the job waits."""


@dataclass(frozen=True, slots=True)
class Written:
    """What came of a commit."""

    claimed: Sequence[Claimed]
    refused: Mapping[int, str] = field(default_factory=dict)  #: items that were ended because of their rows, and why


class Writer:
    """PostgreSQL gets a thread of its own, so that the event loop does not wait for a server.

    SQLite is written to from the event loop: it takes a few milliseconds of this very process, and a thread that shares
    the interpreter with a busy loop takes many times as long (docs/decisions/0008).
    """

    def __init__(self, presence: Presence, job: Any):
        self._presence = presence
        self._holder = Holder(presence.session, presence.code_version, job)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="database")
        self._has_written = False  # rows or results of this slice, so the database does take such

    async def commit(self, batch: Batch, wish: Wish) -> Written:
        """Write the batch and claim what is wished for. Whether an interrupted commit arrived is for the rows to say.

        A batch that is refused for what it carries is written in ever smaller parts, and an item whose rows are refused
        even alone ends with that reason, unless it seems that the database refuses everything.

        Raises Fenced when this process may write no more, CommitRefused when no item in particular is to blame,
        DBAPIError when sending it again would not help.
        """
        try:
            return Written(await self._send(batch, wish))
        except Exception as error:
            if not blames_rows(error):
                raise
            log.warning("a commit was refused, looking for the rows to blame: %s", reason(error),
                        exc_info=not isinstance(error, DBAPIError))  # fmt: skip
            return await self._write_apart(batch, wish)

    async def _write_apart(self, batch: Batch, wish: Wish) -> Written:
        items = batch.items()
        refused = await self._halve(batch, items)
        if refused and not self._to_blame(batch, items, refused):
            raise CommitRefused(f"no item's rows are taken: {next(iter(refused.values()))}")
        try:
            for item, problem in refused.items():
                log.error("item %s ends: the database refuses its rows: %s", item, problem)
                problem = f"the database refuses its rows: {problem}"
                await self._persist(end_refused, batch.claims, item, batch.claims[item], problem)
            claimed = await self._send(Batch(batch.claims), wish) if wish.items else []
        except Exception as error:
            if not blames_rows(error):
                raise
            raise CommitRefused(reason(error)) from error
        return Written(claimed, refused)

    async def _halve(self, batch: Batch, items: list[int]) -> dict[int, str]:
        """Write the batch, of these items, whole or in parts; returns why the items that are refused alone were."""
        try:
            await self._send(batch, NOTHING)
            return {}
        except Exception as error:
            if not blames_rows(error):
                raise
            if len(items) < 2:
                return dict.fromkeys(items, reason(error))
        middle = len(items) // 2
        halves = items[:middle], items[middle:]
        return {item: why for half in halves for item, why in (await self._halve(batch.part(set(half)), half)).items()}

    def _to_blame(self, batch: Batch, items: list[int], refused: Mapping[int, str]) -> bool:
        """Whether refusals are these items' own fault, and not that of a database that takes nothing from anybody.

        Others' rows were taken: it is theirs. An item that is alone in its commit is believed innocent as long as this
        slice has written nothing, until it has been claimed so often that it would stop its job for good.
        """
        if len(refused) < len(items):
            return True
        return len(items) == 1 and (self._has_written or batch.claims[items[0]] >= ALONE)

    async def _send(self, batch: Batch, wish: Wish) -> list[Claimed]:
        claimed = await self._persist(commit, batch.claims, batch, wish)
        self._has_written |= any(batch.rows.values()) or bool(batch.finished)
        return claimed

    async def _persist(self, function: Callable[..., Any], held: Collection[int], *arguments: Any) -> Any:
        """Call a function that writes in one transaction, until the database has it."""
        wait = FIRST_WAIT
        while True:
            try:
                if wait > FIRST_WAIT:
                    # The interrupted commit may have claimed items of which nobody here knows: they are owed again.
                    await self._run(release_strays, set(held))
                done = await self._run(function, *arguments)
                break
            except DBAPIError as error:
                if not retryable(error):
                    raise
                if self._presence.lost:
                    raise Fenced("the database could not be written for too long") from error
                log.warning("commit interrupted, trying again: %s", reason(error))
                await asyncio.sleep(wait)
                wait = min(2 * wait, LONGEST_WAIT)
        if wait > FIRST_WAIT and function is commit:  # or claimed again what the batch gives back
            batch = arguments[0]
            ended = {one.item for one in (*batch.finished, *batch.given_back)}
            await self._run(release_strays, (batch.claims.keys() - ended) | {item.id for item in done})
        return done

    def close(self) -> None:
        self._thread.shutdown()

    async def _run(self, function: Any, *arguments: Any) -> Any:
        database = self._presence.database
        if database.is_sqlite:
            return function(database, self._holder, *arguments)
        return await asyncio.get_running_loop().run_in_executor(
            self._thread, function, database, self._holder, *arguments
        )
