"""What a slice has to tell the database: the steps, results and returned items of its next commit."""

from __future__ import annotations

from collections.abc import Collection

from db.batch import Batch, Finished, GivenBack
from db.claims import Claimed
from db.job_stops import JobStop
from db.journal import Buffer, Contents
from lumos_queue.util.sanitize import storable


class Outbox:
    """Collects what has happened since the last commit, and knows which items the slice still holds."""

    def __init__(self) -> None:
        self.steps = Buffer()  #: where the journals of running items write
        self._claims: dict[int, int] = {}  # claim number of every item not yet written as ended
        self._finished: list[Finished] = []
        self._given_back: list[GivenBack] = []

    @property
    def is_empty(self) -> bool:
        return not (self.steps.size or self._finished or self._given_back)

    def hold(self, item: Claimed) -> None:
        """From here on the item is this slice's, until a commit says that it ended or was given back."""
        self._claims[item.id] = item.claim

    def finish(self, done: Finished) -> None:
        self._finished.append(done)

    def give_back(
        self, item: int, problem: str = "", wait_seconds: float = 0.0, awaits: bool = False, failed: bool = False
    ) -> None:
        self._given_back.append(GivenBack(item, storable(problem)[0], wait_seconds, awaits, failed))

    def stop_job(self, item: int, stop: JobStop) -> None:
        """Give back the item, whose job must not go on."""
        self._given_back.append(GivenBack(item, stop.reason, stop=stop))

    def give_back_rest(self) -> None:
        """Give back every item of which nothing else has been said."""
        ended = {one.item for one in (*self._finished, *self._given_back)}
        self._given_back += [GivenBack(item) for item in self._claims if item not in ended]

    def take(self) -> Batch:
        """All of it, as one commit carries it."""
        batch = Batch(dict(self._claims), *self.steps.take(), self._finished, self._given_back)
        self._finished, self._given_back = [], []
        return batch

    def confirm(self, batch: Batch) -> None:
        """The batch is stored: the items that it ended or gave back are no longer held."""
        for ended in (*batch.finished, *batch.given_back):
            self._claims.pop(ended.item, None)

    def forget(self, items: Collection[int], contents: Contents) -> None:
        """Say nothing more of these items. `contents` of the commit that was refused may not have arrived."""
        self.steps.drop(items, contents)
        self._finished = [done for done in self._finished if done.item not in items]
        self._given_back = [back for back in self._given_back if back.item not in items]
        for item in items:
            self._claims.pop(item, None)
