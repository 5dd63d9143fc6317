"""A slice: a bounded stretch of work by one process for one job.

Claim items, keep several in flight on one event loop, write what they do in group commits, top up, stop after a while.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Any

from db.claims import NOTHING, Claimed, Wish
from db.commit import Batch, Finished, GivenBack
from db.fence import Fenced
from db.journal import Buffer, EpisodeJournal
from db.models import Attempt
from lumos_queue.endpoints.statuses import may_pass
from lumos_queue.episode import Diverged
from lumos_queue.errors import EndpointDown, InfrastructureError, Undecided
from lumos_queue.jobs.base import ItemResult, Job, Work
from lumos_queue.records import Ending as EpisodeEnding
from lumos_queue.records import Outcome
from lumos_queue.settings import Settings
from lumos_queue.util.sanitize import storable
from workers.session import Presence
from workers.stop_signal import Ending
from workers.writer import Writer

log = logging.getLogger(__name__)
STOPPED = ("cancelling", "cancelled", "paused", "removing", "removed")  #: states of a job that is not to be worked on
UNDECIDED_SECONDS = 3.0  #: before an item is tried again of which nobody knows why it was refused
REFUSED_SECONDS = 8.0  #: the same when everybody was: longer than the job waits at first, so that others begin
IDLE_SECONDS = 0.5  #: how often a slice with nothing to write looks for items that have come due


@dataclass
class Slice:
    """One process at work on one job. `should_end` is asked, again and again; its answers: workers/stop_signal.py."""

    presence: Presence
    settings: Settings
    row: Any  #: the job's row
    job: Job
    should_end: Callable[[], int]
    on_finish: Callable[[], None] = lambda: None  #: called for each item that comes to an end
    finished: int = 0  #: items this slice brought to an end
    down: EndpointDown | None = None  #: why the slice stopped, if an endpoint did not work

    _buffer: Buffer = field(default_factory=Buffer)
    _done: list[Finished] = field(default_factory=list)
    _given_back: list[GivenBack] = field(default_factory=list)
    _ready: deque[Claimed] = field(default_factory=deque)  # claimed a moment ahead, so that no place stays empty
    _running: dict[int, asyncio.Task] = field(default_factory=dict)
    _claims: dict[int, int] = field(default_factory=dict)  # of every item not yet written as ended
    _undecided: Undecided | None = None  # the latest one, with no item finished since
    _after: int = -1  # ordinal of the item claimed last
    _suspects: dict[int, int] = field(default_factory=dict)  # running ones, with how many may run beside one another

    async def run(self, context: Any) -> None:
        """Work until nothing is due, the slice should end, the job is stopped or this process is declared dead."""
        self._context = context
        self._heads = self.job.prompt_prefixes()
        self._writer = Writer(self.presence, self.row)
        try:
            await self._keep_going()
            await self._give_back_the_rest()
        except BaseException:
            self.presence.declare_lost()  # what could not be given back comes back with the end of the session
            raise
        finally:
            await self._cancel_running()
            self._writer.close()

    async def _keep_going(self) -> None:
        look_at = 0.0  # when to claim again after a claim that brought less than was wanted
        pace, before = 0.0, 0  # items finished from one commit to the next, smoothed
        while not self.presence.lost:
            if self.presence.states.get(self.row.id) in STOPPED:
                return await self._give_back_the_rest()
            ending = self.should_end()
            if ending >= Ending.NOW or self.down:
                return await self._give_back_the_rest()
            if ending:
                self._give_back_ready()
            pace, before = 0.5 * (pace + self.finished - before), self.finished
            busy, places = len(self._running) + len(self._ready), self._places()
            ahead = 0.0 if self._suspects else 4 * pace  # of four commits, claimed again when two of them are used up
            due = busy < places + ahead / 2 and time.monotonic() >= look_at and not ending
            wanted = places + ceil(ahead) - busy if due else 0
            claimed: list[Claimed] = []
            if wanted or self._owes_a_commit():
                claimed = await self._commit(Wish(wanted, busy, bool(self._suspects), self._after))
                self._take_on(claimed)
            if len(claimed) < wanted:
                look_at = time.monotonic() + IDLE_SECONDS
            if not (self._running or self._owes_a_commit()):
                if self._undecided:  # nothing else is left to tell whose fault it is
                    self.down = EndpointDown(str(self._undecided), status=self._undecided.status)
                return None
            await self._buffer.gather(self.settings.flush_seconds)
        raise Fenced("this process could not report to the database in time")

    def _places(self) -> int:
        """How many items may run at once; one more while all of them wait for others' evidence (evidence.py)."""
        places = min([self.job.concurrency or self.settings.concurrency, *self._suspects.values()])
        waiting = sum(one.suspended for one in getattr(self._context, "traffic", {}).values())
        return places + (waiting >= places and not self._suspects)

    def _owes_a_commit(self) -> bool:
        return bool(self._buffer.size or self._done or self._given_back)

    def _take_on(self, claimed: list[Claimed]) -> None:
        for item in claimed:
            self._after = item.ordinal
            self._claims[item.id] = item.claim
            if item.batch:
                self._suspects[item.id] = item.batch
        self._ready.extend(claimed)
        self._start()

    def _start(self) -> None:
        """Start what is ready, as far as there are places."""
        while self._ready and not self.down and len(self._running) < self._places():
            item = self._ready.popleft()
            self._running[item.id] = asyncio.create_task(self._work(item))

    def _give_back_ready(self) -> None:
        for item in self._ready:
            self._suspects.pop(item.id, None)
            self._given_back.append(GivenBack(item.id))
        self._ready.clear()

    async def _give_back_the_rest(self) -> None:
        """Stop what is running and write everything, so that others can go on from the last step."""
        await self._cancel_running()
        ended = {done.item for done in (*self._done, *self._given_back)}
        self._given_back += [GivenBack(item) for item in self._claims if item not in ended]
        if self._owes_a_commit():
            await self._commit()

    async def _cancel_running(self) -> None:
        self._ready.clear()  # they are in _claims, and so are given back with what was running
        running = list(self._running.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        self._running.clear()

    async def _work(self, item: Claimed) -> None:
        """Run one item to its end, or give it back."""
        journal = EpisodeJournal(item.id, item.attempt, self._buffer, self._heads)
        for step in item.steps:
            journal.recall(step)
        work, started = Work(item.ordinal, item.sample, item.task), time.monotonic()
        try:
            try:
                result = await self.job.run(work, journal, self._context)
            except Diverged as difference:
                log.warning("item %s begins a new attempt: %s", item.id, difference)
                journal = EpisodeJournal(item.id, item.attempt + 1, self._buffer, self._heads)
                self._buffer.add(Attempt, (item.id, journal.attempt, self.presence.code_version))
                result = await self.job.run(work, journal, self._context)
        except EndpointDown as error:
            self.down = error
            refused = error.status and not may_pass(error.status)
            self._given_back.append(GivenBack(item.id, wait_seconds=REFUSED_SECONDS if refused else 0.0))
            return
        except Undecided as error:
            self._undecided = error
            self._given_back.append(GivenBack(item.id, wait_seconds=UNDECIDED_SECONDS))
            return
        except InfrastructureError as error:
            self._give_back(item, str(error), error.retry_after)
            return
        except Exception as error:
            # A fault of ours, not of the model or a server: trying again would meet it again. The row says so.
            log.exception("item %s failed", item.id)
            problem = storable(f"{type(error).__name__}: {error}")[0]
            if item.task is None:  # no episode could say so, and later items may need this one
                self._give_back(item, problem)
                return
            result = ItemResult(Outcome(None, EpisodeEnding.INFRA_ERROR, problem))
        finally:
            self._running.pop(item.id, None)
            self._suspects.pop(item.id, None)
            self._start()
        self.finished += 1
        self._undecided = None
        self.on_finish()
        self._done.append(Finished(
            item.id, result.outcome, result.scores, journal.attempt, journal.calls, journal.prompt_tokens,
            journal.completion_tokens, time.monotonic() - started, result.output, result.verdicts, result.level,
        ))  # fmt: skip

    def _give_back(self, item: Claimed, problem: str, retry_after: float | None = None) -> None:
        """Owed again after a failure, in a while: longer each time the item was claimed, up to a minute."""
        wait = retry_after or min(60.0, 2.0 ** min(item.claim, 6))
        self._given_back.append(GivenBack(item.id, storable(problem)[0], wait))

    async def _commit(self, wish: Wish = NOTHING) -> list[Claimed]:
        batch = Batch(dict(self._claims), *self._buffer.take(), self._done, self._given_back)
        self._done, self._given_back = [], []
        written = await self._writer.commit(batch, wish)
        for ended in (*batch.finished, *batch.given_back):
            self._claims.pop(ended.item, None)
        await self._drop(written.refused, batch.texts)
        return list(written.claimed)

    async def _drop(self, refused: Collection[int], texts: Mapping[str, str]) -> None:
        """Forget items that the database has ended: what still runs of them is stopped, and nothing more is written.

        `texts` of the commit that was refused may not have arrived.
        """
        if not refused:
            return
        for task in (running := [self._running[item] for item in refused if item in self._running]):
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        self._buffer.drop(refused, texts)
        self._done = [done for done in self._done if done.item not in refused]
        self._given_back = [back for back in self._given_back if back.item not in refused]
        self.finished += len(running)
        for item in refused:
            self._claims.pop(item, None)
