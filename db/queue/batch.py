"""The content of one commit of a slice: rows, results, and the items that it gives back."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from db.engine.rows.declaration import PlainRow
from db.journal.buffer import Contents
from db.journal.episode_journal import EpisodeFigures
from db.kinds.totals import NO_TOTALS, EpisodeTotals
from db.queue.job_stops import JobStop
from lumos_queue.records import FeedbackStep, Outcome, Score, TrainedModel, TrainingStep, Verdict


@dataclass(frozen=True, slots=True)
class FinishedItem:
    """An item's result. The commit that writes it makes it the item's accepted result."""

    item: int
    outcome: Outcome | None = None  #: of kinds whose items are episodes
    scores: Sequence[Score] = ()
    attempt: int = 1
    totals: EpisodeTotals = NO_TOTALS
    seconds: float = 0.0
    output: object = None  #: of kinds whose items are not episodes
    verdicts: Sequence[Verdict] = ()
    level: str = ""  #: how an annotation was checked
    training_steps: Sequence[TrainingStep] = ()
    feedback_steps: Sequence[FeedbackStep] = ()
    models: Sequence[TrainedModel] = ()
    stop: JobStop | None = None  #: why its job must stop before the next item; None: it continues
    figures: EpisodeFigures | None = None  #: for the job's sums; None: they are counted from the rows


@dataclass(frozen=True, slots=True)
class ReturnedItem:
    """An item that is given back: after an infrastructure failure, when the slice stops, or to wait for a person.

    If the job is being cancelled, `finish_if_idle` cancels the item.
    """

    item: int
    problem: str = ""  #: empty: nothing failed
    wait_seconds: float = 0.0  #: before it is due again
    awaits: bool = False  #: whether a person has to answer first
    failed: bool = False  #: whether a server failed all tries of this item while it answered other requests
    stop: JobStop | None = None  #: why its job must stop; None: it continues


@dataclass(slots=True)
class Batch:
    """The content of one commit. An interrupted commit is repeated unchanged: every part is idempotent."""

    claims: dict[int, int]  #: claim number of each held item, including the items of the batch
    #: of steps, by type (db/engine/rows/steps.py)
    rows: dict[type[PlainRow], list[PlainRow]] = field(default_factory=dict[type[PlainRow], list[PlainRow]])
    contents: Contents = field(default_factory=Contents)  #: what the rows refer to
    finished: list[FinishedItem] = field(default_factory=list[FinishedItem])
    given_back: list[ReturnedItem] = field(default_factory=list[ReturnedItem])

    def items(self) -> list[int]:
        """Return the ids of the items that the batch has rows or results of, or gives back, in ascending order."""
        items = {row[0] for rows in self.rows.values() for row in rows}
        return sorted(items.union(part.item for part in (*self.finished, *self.given_back)))

    def part(self, items: Collection[int]) -> Batch:
        """Return a batch with the changes of these items only, and the contents that their rows refer to."""
        rows = {kind: [row for row in all_rows if row[0] in items] for kind, all_rows in self.rows.items()}
        return Batch(
            self.claims,
            rows,
            self.contents.of_rows(row for part in rows.values() for row in part),
            [finished_item for finished_item in self.finished if finished_item.item in items],
            [back for back in self.given_back if back.item in items],
        )
