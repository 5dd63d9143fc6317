"""The contents of a slice's next commit: steps, results and returned items."""

from __future__ import annotations

from collections.abc import Collection

from db.journal.buffer import Buffer, Contents
from db.queue.batch import Batch, FinishedItem, ReturnedItem
from db.queue.claims import ClaimedItem
from db.queue.job_stops import JobStop
from lumos_queue.util.sanitize import storable


class Outbox:
    """Collects the changes since the last commit, and the items that the slice holds."""

    def __init__(self) -> None:
        self.steps = Buffer()  #: the journals of running items write here
        self._claims: dict[int, int] = {}  # claim number of every item whose end is not yet written
        self._finished_items: list[FinishedItem] = []
        self._returned_items: list[ReturnedItem] = []

    @property
    def is_empty(self) -> bool:
        return not (self.steps.size or self._finished_items or self._returned_items)

    def hold(self, item: ClaimedItem) -> None:
        """Add an item that was claimed. This slice holds the item until a commit ends it or gives it back."""
        self._claims[item.id] = item.claim

    def finish(self, finished_item: FinishedItem) -> None:
        self._finished_items.append(finished_item)

    def give_back(
        self, item: int, problem: str = "", wait_seconds: float = 0.0, awaits: bool = False, is_failure: bool = False
    ) -> None:
        self._returned_items.append(ReturnedItem(item, storable(problem)[0], wait_seconds, awaits, is_failure))

    def stop_job(self, item: int, stop: JobStop) -> None:
        """Give back an item, and stop its job."""
        self._returned_items.append(ReturnedItem(item, stop.reason, stop=stop))

    def give_back_rest(self) -> None:
        """Give back every item that has not ended and is not given back yet."""
        settled_ids = {report.item for report in (*self._finished_items, *self._returned_items)}
        self._returned_items += [ReturnedItem(item) for item in self._claims if item not in settled_ids]

    def take(self) -> Batch:
        """Remove and return all changes, as one batch. Later changes go into the next batch."""
        batch = Batch(dict(self._claims), *self.steps.take(), self._finished_items, self._returned_items)
        self._finished_items, self._returned_items = [], []
        return batch

    def confirm(self, batch: Batch) -> None:
        """Note that the batch was stored: the slice no longer holds the items that the batch ended or gave back."""
        for report in (*batch.finished, *batch.given_back):
            self._claims.pop(report.item, None)

    def forget(self, items: Collection[int], contents: Contents) -> None:
        """Drop all changes of these items. `contents`: of the refused commit, which may not be stored."""
        self.steps.drop(items, contents)
        self._finished_items = [
            finished_item for finished_item in self._finished_items if finished_item.item not in items
        ]
        self._returned_items = [
            returned_item for returned_item in self._returned_items if returned_item.item not in items
        ]
        for item in items:
            self._claims.pop(item, None)
