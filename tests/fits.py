"""Training jobs whose worker reports the progress of fits, for tests of what shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import and_, update

from db.engine.connection import Database
from db.models import JobRow, TrainingProgressRow, WorkerSessionRow
from db.queue.batch import Batch, FinishedItem, ReturnedItem
from db.queue.claims import LeaseHolder
from db.queue.commit import commit
from db.queue.training_progress import ProgressReport, store_progress
from lumos_queue.records import FitPhase, FitProgress, TrainingStep
from tests.claims import claim, holder, new_job

HOST = "gpu-1"
#: A step in the middle of a fit of 1,600 steps.
STEP_137 = FitProgress(
    phase=FitPhase.TRAINING,
    step=137,
    steps=1600,
    start_step=0,
    loss=2.3141,
    rate=0.019,
    grad_norm=0.8123,
    tokens_per_second=3120.4,
    memory=1_200_000_000,
    seconds_left=840.0,
    dev_loss=1.95,
    best_step=100,
    best_dev_loss=1.92,
    checkpoint_step=120,
    checkpoint_seconds=60.0,
)
LOADING = FitProgress(phase=FitPhase.LOADING, memory_estimate=3_100_000_000)


@dataclass
class ReportedFit:
    """A training job with a live worker, which works on the items of the job in their order."""

    database: Database
    job: str
    who: LeaseHolder
    items: list[Any] = field(default_factory=list)  #: that the worker holds

    def take(self) -> None:
        """Claim the next item."""
        self.items = claim(self.database, self.who, 1)

    def report(self, progress: FitProgress = STEP_137, seconds: float = 192.0, points: Any = ((137, 2.3141),)) -> None:
        """Store a report on the claimed item. `seconds`: that the phase has lasted.

        Its time is in the future, so that its age is zero for as long as a test may take.
        """
        (item,) = self.items
        store_progress(self.database, self.who.session, ProgressReport(item.id, progress, seconds, points))
        table = TrainingProgressRow
        with self.database.writer.begin() as connection:
            is_own = and_(table.job == self.job, table.fit == progress.fit)
            connection.execute(update(table).where(is_own).values(at=table.at + 3600))

    def end(self, first: int = 1, last: int = 0, fit: str = "", **output: Any) -> None:
        """End the claimed item with the steps from `first` to `last`, and these further keys of its output."""
        steps = [TrainingStep(fit, step, 100 / (step + 24), 0.02, 0.5, 100, 1 << 30) for step in range(first, last + 1)]
        facts = {"fit": fit, "checkpoint": "", "step": last, "loss": 2.5, "tokens": 100 * len(steps)}
        facts |= {"tokens_per_second": 3000.0, "seconds": 9.0} | output
        self.end_with(facts, steps)

    def end_with(self, output: dict[str, Any], steps: Sequence[TrainingStep] = ()) -> None:
        """End the claimed item with this output."""
        (item,) = self.items
        finished = FinishedItem(item.id, output=output, training_steps=tuple(steps))
        commit(self.database, self.who, Batch({item.id: item.claim}, finished=[finished]))
        self.items = []

    def take_again(self) -> None:
        """Give the claimed item back, and claim it again."""
        (item,) = self.items
        commit(self.database, self.who, Batch({item.id: item.claim}, given_back=[ReturnedItem(item.id)]))
        self.take()


def reported_fit(database: Database, items: int = 3, host: str = HOST, **options: Any) -> ReportedFit:
    """Create a running training job of `items` items; a worker on `host` has claimed the first item."""
    job = new_job(database, tasks=0, kind="train", ordered=True, windows=items, pool="cpu", **options)
    who = holder(database, job)
    with database.writer.begin() as connection:
        connection.execute(update(JobRow).where(JobRow.id == job).values(state="running", spec={"recipe": "sft"}))
        connection.execute(update(WorkerSessionRow).where(WorkerSessionRow.id == who.session).values(host=host))
    fit = ReportedFit(database, job, who)
    fit.take()
    return fit


def change(**changes: Any) -> FitProgress:
    """Return the progress at step 137 with these changes."""
    return replace(STEP_137, **changes)
