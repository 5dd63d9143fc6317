"""A slice: one process works on one job for a limited time.

It claims items, runs several of them on one event loop, writes their steps in group commits, and claims more.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Collection

from db.journal.buffer import Contents
from db.kinds.job_kinds import JobKind
from db.kinds.states import STOPPED, JobState
from db.queue.claims import NO_CLAIM, ClaimedItem, ClaimRequest
from db.queue.fence import Fenced
from db.queue.stored_jobs import StoredJob
from lumos_queue.endpoints.statuses import is_transient
from lumos_queue.errors import (
    ApprovalPending,
    EndpointDown,
    FitInterrupted,
    InfrastructureError,
    NeedsAttention,
    NotSent,
    RowFailed,
    SpecError,
    UnclearFailure,
    WaitsForJob,
)
from lumos_queue.jobs.base import Job, JobContext
from workers.item import ItemRunner, stop_for
from workers.lookahead import LookAhead
from workers.outbox import Outbox
from workers.session import WorkerSession
from workers.slice_result import SliceResult
from workers.stop_signal import ShouldEnd, StopSignal
from workers.writer import CommitWriter

log = logging.getLogger(__name__)
UNDECIDED_SECONDS = 3.0  #: before the retry of an item after an unexplained refusal
REFUSED_SECONDS = 8.0  #: the same when all were refused: longer than the job's first wait, so that other items begin
IDLE_SECONDS = 0.5  #: between two searches for due items while a slice has nothing to write


class Slice:
    """The work of one process on one job. The slice calls `should_end` repeatedly, which returns a `StopSignal`."""

    def __init__(
        self,
        session: WorkerSession,
        row: StoredJob,
        job: Job[JobContext],
        context: JobContext,
        should_end: ShouldEnd,
        on_finish: Callable[[], None] = lambda: None,
        result: SliceResult | None = None,
    ):
        """`row`: the job's row. `context`: what `job.open` opened. `on_finish`: called when an item has ended."""
        self.result = result or SliceResult()  #: filled while it runs
        self.down: EndpointDown | None = None  #: the outage of an endpoint, if it stopped the slice
        self.awaited: WaitsForJob | None = None  #: the wait for another job, if it stopped the slice
        self._session, self._settings, self._row, self._job = session, session.settings, row, job
        self._context, self._should_end, self._on_finish = context, should_end, on_finish
        self._outbox = Outbox()
        self._runner = ItemRunner(job, context, self._outbox.steps, session.code_version)
        self._writer = CommitWriter(session, row)
        self._ready: deque[ClaimedItem] = deque()  # claimed ahead, so that no slot stays empty
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._suspects: dict[int, int] = {}  # of items that run or are ready: how many may run at once
        self._unclear_failure: UnclearFailure | None = None  # the latest, if no item has finished since
        self._is_stopped = False  # whether an item has stopped the job, or the slice
        self._after = -1  # ordinal of the item claimed last

    async def run(self) -> None:
        """Work until nothing is due, the slice should end, the job is stopped or this process is declared dead."""
        try:
            await self._keep_going()
            await self._give_back_the_rest()
        except BaseException:
            self._session.declare_lost()  # the end of the session gives back the remaining items
            raise
        finally:
            await self._cancel_running()
            self._writer.close()

    async def _keep_going(self) -> None:
        pace = LookAhead()
        while not self._session.lost:
            state = self._session.states.get(self._row.id)
            if self._is_stopped or state in STOPPED:
                self.result.why = f"the job is {state}" if state in STOPPED else "an item stopped the job"
                return
            if signal := self._should_end():
                self.result.why = getattr(self._should_end, "reason", "") or "the process is stopping"
            if signal >= (StopSignal.LEAVE if self._row.kind == JobKind.TRAIN else StopSignal.ABORT):
                return
            if ends := bool(signal or self.down):  # items in flight may end
                self._give_back_waiting()
            pace = pace.observe(self.result.finished)
            busy, alone = len(self._tasks) + len(self._ready), bool(self._suspects)
            claim_size = (
                0 if ends else pace.items_to_claim(self._count_slots(), busy, time.monotonic(), ahead=not alone)
            )
            new_items = await self._commit(ClaimRequest(claim_size, busy, alone, self._after))
            self._take_on(new_items)
            if len(new_items) < claim_size:
                pace = pace.wait_until(time.monotonic() + IDLE_SECONDS)
            if not self._tasks and self._outbox.is_empty:
                if self._unclear_failure and not self.down:  # no other item remains that could explain it
                    self.down = EndpointDown(str(self._unclear_failure), status=self._unclear_failure.status)
                return
            await self._outbox.steps.gather(self._settings.flush_seconds)
        # Other processes may claim the items now, so `run` cancels the running items without writing.
        raise Fenced("this process could not report to the database in time")

    def _count_slots(self) -> int:
        """Return how many items may run at once. A suspect limits the number to its batch size.

        If the requests of all running items wait for evidence about a refusal or failure (endpoints/evidence.py), one
        more item may run: the answers to its requests are that evidence.
        """
        usual = self._job.concurrency or self._row.concurrency or self._settings.concurrency
        slots = min([usual, *self._suspects.values()])
        suspended_items = sum(gate.suspended for gate in self._context.traffic.values())
        return slots + (suspended_items >= slots and not self._suspects)

    def _take_on(self, new_items: list[ClaimedItem]) -> None:
        for item in new_items:
            self._after = item.ordinal
            self._outbox.hold(item)
        self._suspects |= {item.id: item.batch for item in new_items if item.batch}
        self._ready.extend(new_items)
        self._start()

    def _start(self) -> None:
        """Start ready items while slots are free."""
        while self._ready and not (self.down or self._is_stopped) and len(self._tasks) < self._count_slots():
            item = self._ready.popleft()
            self._tasks[item.id] = asyncio.create_task(self._work(item))

    def _give_back_waiting(self) -> None:
        """Give back the items that have not begun, and those that wait for a slot at their endpoint."""
        for gate in self._context.traffic.values():
            gate.drain()
        for item in self._ready:
            self._suspects.pop(item.id, None)
            self._outbox.give_back(item.id)
        self._ready.clear()

    async def _give_back_the_rest(self) -> None:
        """Stop running items and write everything, so that other workers can continue from the last step."""
        await self._cancel_running()
        await asyncio.to_thread(self._session.store_progress)
        self._outbox.give_back_rest()
        await self._commit()

    async def _cancel_running(self) -> None:
        self._ready.clear()  # the outbox holds them, and gives them back with the running items
        await _cancel(self._tasks.values())
        self._tasks.clear()

    async def _work(self, item: ClaimedItem) -> None:
        """Run one item to its end, or give it back."""
        try:
            finished_item = await self._runner.run(item)
        except EndpointDown as error:
            self.down = error
            is_refused = bool(error.status) and not is_transient(error.status)
            self._outbox.give_back(item.id, wait_seconds=REFUSED_SECONDS * is_refused)
            return
        except UnclearFailure as error:
            self._unclear_failure = error
            self._outbox.give_back(item.id, wait_seconds=UNDECIDED_SECONDS)
            return
        except (NotSent, ApprovalPending, FitInterrupted) as error:
            self._outbox.give_back(item.id, awaits=isinstance(error, ApprovalPending))
            return
        except WaitsForJob as error:
            self.awaited, self._is_stopped = error, True
            self._outbox.give_back(item.id)
            return
        except InfrastructureError as error:
            reason = str(error).strip() or type(error).__name__  # an empty reason would mean that nothing failed
            self.result.note_failure(item.id, reason)
            wait = error.retry_after or min(60.0, 2.0 ** min(item.claim, 6))  # longer with each claim
            self._outbox.give_back(item.id, reason, wait, is_failure=isinstance(error, RowFailed))
            return
        except (SpecError, NeedsAttention) as error:
            self._stop_job(item, JobState.FAILED if isinstance(error, SpecError) else JobState.PAUSED, error)
            return
        except Exception:  # outside the job's code, whose errors end the item
            log.exception("job %s: item %s met an internal error and is given back", self._row.id, item.ordinal)
            return
        finally:
            self._tasks.pop(item.id, None)
            self._suspects.pop(item.id, None)
            self._start()
            if not self._tasks:
                self._outbox.steps.stop_gathering()
        self.result.note_end(item.id, finished_item.outcome)
        self._unclear_failure = None
        self._on_finish()
        self._outbox.finish(finished_item)
        self._is_stopped |= finished_item.stop is not None

    def _stop_job(self, item: ClaimedItem, state: JobState, error: Exception) -> None:
        log.error("job %s is %s: item %s: %s", self._row.id, state, item.ordinal, error)
        self._is_stopped = True
        self._outbox.stop_job(item.id, stop_for(item, state, str(error)))

    async def _commit(self, wish: ClaimRequest = NO_CLAIM) -> list[ClaimedItem]:
        if not wish.items and self._outbox.is_empty:
            return []
        batch = self._outbox.take()
        commit_result = await self._writer.commit(batch, wish)
        self._outbox.confirm(batch)
        if commit_result.refused:
            await self._drop(commit_result.refused, batch.contents)
        return list(commit_result.claimed)

    async def _drop(self, refusals: Collection[int], contents: Contents) -> None:
        """Stop the items that a commit has ended because their rows were refused. Nothing more of them is written."""
        tasks = [self._tasks[item] for item in refusals if item in self._tasks]
        await _cancel(tasks)
        self._outbox.forget(refusals, contents)
        self._is_stopped |= self._row.kind == JobKind.TRAIN  # a later item of a training needs the earlier ones
        self.result.finished += len(tasks)


async def _cancel(tasks: Collection[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
