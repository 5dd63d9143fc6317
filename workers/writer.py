"""Group commits of a slice, one after the other. Each is sent again until the database has it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar, TypeVarTuple

from db.engine.connection import Database
from db.engine.errors import blames_rows, reason
from db.queue.batch import Batch
from db.queue.claims import NO_CLAIM, ClaimedItem, ClaimRequest, LeaseHolder
from db.queue.commit import commit, end_refused, release_strays
from db.queue.fence import Fenced
from db.queue.stored_jobs import StoredJob
from lumos_queue.errors import DatabaseFailure, DatabaseUnavailable, LumosError
from workers.session import WorkerSession

log = logging.getLogger(__name__)
R = TypeVar("R")
Arguments = TypeVarTuple("Arguments")
MAX_CLAIMS = 3  #: claims after which an item that is refused alone is to blame, even without other written items
MIN_WAIT, MAX_WAIT = 0.1, 2.0  #: seconds before a commit is sent again, doubled each time


class CommitRefused(LumosError):
    """Raised when the database refuses a slice's rows, and no single item is the cause. The job then waits."""


@dataclass(frozen=True, slots=True)
class CommitResult:
    """The items that a commit has claimed, and those that it has ended because their rows were refused."""

    claimed: Sequence[ClaimedItem]
    #: items whose rows were refused, with the reason: they end
    refused: Mapping[int, str] = field(default_factory=dict[int, str])


class CommitWriter:
    """Writes to PostgreSQL from a separate thread, so that the event loop does not wait for a server.

    It writes to SQLite from the event loop: this takes a few milliseconds, and a thread that shares the interpreter
    with a busy loop takes many times as long (docs/decisions/0008).
    """

    def __init__(self, session: WorkerSession, job: StoredJob):
        self._session = session
        self._holder = LeaseHolder(session.id, session.code_version, job)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="database")
        self._has_written = False  # whether the database has accepted rows or results of this slice

    async def commit(self, batch: Batch, request: ClaimRequest) -> CommitResult:
        """Write the batch, and claim the requested items. An interrupted commit is repeated; rows are stored only once.

        If rows of the batch are refused, it is written in smaller and smaller parts. An item whose rows are refused
        alone ends with that reason, unless the database seems to refuse everything.

        Raises Fenced when this process may write no more, CommitRefused when no single item is the cause,
        DatabaseFailure when a retry would not help.
        """
        try:
            return CommitResult(await self._send(batch, request))
        except Exception as error:
            if not blames_rows(error):
                raise
            trace = not isinstance(error, DatabaseFailure)
            log.warning("a commit was refused, looking for the rows to blame: %s", reason(error), exc_info=trace)
            return await self._write_apart(batch, request)

    async def _write_apart(self, batch: Batch, request: ClaimRequest) -> CommitResult:
        items = batch.items()
        refusals = await self._halve(batch, items)
        if refusals and not self._are_to_blame(batch, items, refusals):
            raise CommitRefused(f"no item's rows are taken: {next(iter(refusals.values()))}")
        try:
            for item, problem in refusals.items():
                log.error("item %s ends: the database refuses its rows: %s", item, problem)
                problem = f"the database refuses its rows: {problem}"
                await self._persist(end_refused, batch.claims, item, batch.claims[item], problem)
            new_items = await self._send(Batch(batch.claims), request) if request.items else []
        except Exception as error:
            if not blames_rows(error):
                raise
            raise CommitRefused(reason(error)) from error
        return CommitResult(new_items, refusals)

    async def _halve(self, batch: Batch, items: list[int]) -> dict[int, str]:
        """Write the batch of these items, whole or in parts. Return the reason for each item that is refused alone."""
        try:
            await self._send(batch, NO_CLAIM)
            return {}
        except Exception as error:
            if not blames_rows(error):
                raise
            if len(items) < 2:
                return dict.fromkeys(items, reason(error))
        middle = len(items) // 2
        halves = items[:middle], items[middle:]
        return {item: why for half in halves for item, why in (await self._halve(batch.part(set(half)), half)).items()}

    def _are_to_blame(self, batch: Batch, items: list[int], refusals: Mapping[int, str]) -> bool:
        """Whether the refused items are the cause of the refusals, and not a database that refuses everything.

        They are the cause if rows of other items of the batch were accepted. A single item of a batch
        is the cause if this slice has written rows before, or if the item was claimed MAX_CLAIMS times: otherwise it
        would stop its job forever.
        """
        if len(refusals) < len(items):
            return True
        return len(items) == 1 and (self._has_written or batch.claims[items[0]] >= MAX_CLAIMS)

    async def _send(self, batch: Batch, request: ClaimRequest) -> list[ClaimedItem]:
        new_items, is_repeated = await self._persist(commit, batch.claims, batch, request)
        if is_repeated:  # the interrupted commit may have claimed items again that the batch gives back
            settled_ids = {report.item for report in (*batch.finished, *batch.given_back)}
            await self._run(release_strays, (batch.claims.keys() - settled_ids) | {item.id for item in new_items})
        self._has_written |= any(batch.rows.values()) or bool(batch.finished)
        return new_items

    async def _persist(
        self,
        function: Callable[[Database, LeaseHolder, *Arguments], R],
        held_ids: Collection[int],
        *arguments: *Arguments,
    ) -> tuple[R, bool]:
        """Call a function that writes in one transaction, and repeat the call until it succeeds.

        Return its result, and whether the call was repeated.
        """
        wait = MIN_WAIT
        while True:
            try:
                if wait > MIN_WAIT:
                    # The interrupted commit may have claimed items unknown to this process: release them.
                    await self._run(release_strays, set(held_ids))
                return await self._run(function, *arguments), wait > MIN_WAIT
            except DatabaseUnavailable as error:
                if self._session.lost:
                    raise Fenced("the database could not be written for too long") from error
                log.warning("commit interrupted, trying again: %s", error.reason)
                await asyncio.sleep(wait)
                wait = min(2 * wait, MAX_WAIT)

    def close(self) -> None:
        self._thread.shutdown()

    async def _run(self, function: Callable[[Database, LeaseHolder, *Arguments], R], *arguments: *Arguments) -> R:
        database = self._session.database
        if database.is_sqlite:
            return function(database, self._holder, *arguments)
        return await asyncio.get_running_loop().run_in_executor(
            self._thread, function, database, self._holder, *arguments
        )
