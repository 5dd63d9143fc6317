"""Run a claimed item to its end."""

from __future__ import annotations

import logging
import time

from db.engine.rows.steps import NewAttempt
from db.journal.buffer import Buffer
from db.journal.episode_journal import EpisodeJournal
from db.kinds.states import JobState
from db.queue.batch import FinishedItem
from db.queue.claims import ClaimedItem
from db.queue.job_stops import JobStop
from lumos_queue.episode import Diverged
from lumos_queue.errors import (
    DatabaseFailure,
    InfrastructureError,
    NeedsAttention,
    PluginFault,
    RowFailed,
    SpecError,
)
from lumos_queue.jobs.base import ItemResult, Job, JobContext, Work
from lumos_queue.records import Ending, Outcome
from lumos_queue.util.failures import format_failure
from lumos_queue.util.sanitize import storable

log = logging.getLogger(__name__)
ROUND_SECONDS = (5.0, 10.0, 30.0, 60.0)  #: between two rounds of tries of an item for which a server fails
MAX_ROUNDS = len(ROUND_SECONDS) + 1  #: after which the item ends
MAX_FAILURES = 3  #: internal errors that an item without a task meets; then its job has failed


class ItemRunner:
    """Runs items of one job. Steps of the items go into `buffer`, and the slice's commits take them from there."""

    def __init__(self, job: Job[JobContext], context: JobContext, buffer: Buffer, code_version: str):
        """`context`: the object that `job.open` has opened for the slice."""
        self._job, self._context, self._buffer, self._code_version = job, context, buffer, code_version
        self._heads = job.prompt_prefixes()
        self._faults: set[str] = set()  # those in the log

    async def run(self, item: ClaimedItem) -> FinishedItem:
        """Run the item to its end, from its last recorded step on.

        Raises InfrastructureError when the item will be retried. For an item without a task, also raises SpecError when
        the job cannot continue, and NeedsAttention when a person has to act first.
        """
        start = time.monotonic()
        journal = self._journal(item, item.attempt, item.code_version)
        for step in item.steps:
            journal.recall(step)
        try:
            try:
                result = await self._do(item, journal)
            except Diverged as difference:
                log.warning("item %s begins a new attempt: %s", item.id, difference)
                journal = self._journal(item, item.attempt + 1, self._code_version)
                self._buffer.add(NewAttempt(item.id, journal.attempt, self._code_version))
                result = await self._do(item, journal)
        except RowFailed as error:
            if item.task is None or item.failures + 1 < MAX_ROUNDS:
                raise RowFailed(str(error), ROUND_SECONDS[min(item.failures, MAX_ROUNDS - 2)]) from None
            problem = f"failed {MAX_ROUNDS} times while the server answered others; the last: {error}"
            result = ItemResult(Outcome(None, Ending.INFRA_ERROR, storable(problem)[0]))
        except Exception as error:
            # A failed query of an episode ends the episode, as an error of code does.
            if isinstance(error, InfrastructureError) and not isinstance(error, DatabaseFailure):
                raise
            if item.task is None and isinstance(error, SpecError | NeedsAttention):
                raise
            # An error of code, not of the model or a server, would occur again in a retry. The row states it.
            problem = storable(str(error) if isinstance(error, PluginFault) else format_failure(error))[0]
            if problem not in self._faults:  # other items may meet it, too
                self._faults.add(problem)
                log.error("item %s: %s", item.ordinal, problem, exc_info=not isinstance(error, PluginFault))
            if item.task is None:  # there is no episode to state it, and later items may need this item
                again = item.failures + 1 < MAX_FAILURES
                raise (RowFailed if again else SpecError)(problem) from error
            result = ItemResult(Outcome(None, Ending.INFRA_ERROR, problem))
        return FinishedItem(
            item=item.id,
            outcome=result.outcome,
            scores=result.scores,
            attempt=journal.attempt,
            totals=journal.figures.totals,
            figures=journal.figures,
            seconds=time.monotonic() - start,
            output=result.output,
            verdicts=result.verdicts,
            level=result.level,
            training_steps=result.training_steps,
            feedback_steps=result.feedback_steps,
            models=result.models,
            stop=stop_for(item, JobState.PAUSED, result.pause) if result.pause else None,
        )

    def _journal(self, item: ClaimedItem, attempt: int, code_version: str) -> EpisodeJournal:
        question = item.task.question if item.task is not None else ""
        return EpisodeJournal(item.id, attempt, self._buffer, self._heads, code_version, question)

    async def _do(self, item: ClaimedItem, journal: EpisodeJournal) -> ItemResult:
        return await self._job.run(Work(item.ordinal, item.sample, item.task, item.id), journal, self._context)


def stop_for(item: ClaimedItem, state: JobState, reason: str) -> JobStop:
    """Return the request to stop the item's job, with the number of the item and the reason as one line."""
    return JobStop(state, f"item {item.ordinal}: {storable(' '.join(reason.split()))[0]}")
