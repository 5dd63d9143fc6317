"""Write many rows in many short transactions, so that other processes can write between them.

SQLite has one write lock and no queue for it: a process that waits tries again after up to 100 ms. So after each
transaction, a writer of very many rows leaves the lock free for about as long as it held the lock. Otherwise workers
could not report in time, and would be declared dead. While no worker reports, a quarter of that time is enough, because
commands wait for up to ten seconds.

A job is hidden (`submitting`) until its last transaction. Each chunk reports that a process is at work on it (`touch`).
When the reports stop, the process counts as dead, and its rows may be removed. A job that is being removed is hidden
in the same way (`removing`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import TypeVar

from sqlalchemy import Connection, select, update

from db.engine.connection import Database, now
from db.engine.time_conditions import is_recent
from db.kinds.states import JobState
from db.models import Heartbeat, JobRow
from lumos_queue.errors import SpecError, TransactionConflict

FIRST_ROWS = 5000  #: of the first chunk; what fits in one such chunk is written in one transaction
MAX_ROWS = 5000
SECONDS = 0.1  #: that a transaction should take
T = TypeVar("T")
MAX_CONFLICTS = 4  #: after which a conflict with another transaction is raised
IDLE_REST = 0.25  #: pause after a transaction, in units of its duration, when no worker session is alive
ALIVE_SECONDS = 60.0  #: since a session's last report; longer than leases usually are
UNTOUCHED_SECONDS = 15.0  #: without a report, after which the writing process counts as dead


def _somebody_works(connection: Connection) -> bool:
    """Whether a worker session has reported lately."""
    alive = select(Heartbeat.session).where(is_recent(Heartbeat.at, ALIVE_SECONDS))
    return connection.execute(alive.limit(1)).first() is not None


class Chunks:
    """Transactions for many rows. The number of rows of each is chosen so that it takes about `SECONDS`."""

    def __init__(self, database: Database):
        self.database = database
        self.rows = FIRST_ROWS
        self.longest = 0.0  #: seconds that a transaction held the lock
        self._rests_until: float | None = None

    @contextmanager
    def transaction(self) -> Generator[Connection, None, None]:
        """Open a write transaction for `rows` rows, after a pause in which other processes can write.

        The time since the last transaction, in which this process has prepared rows, counts as part of the pause.
        """
        if self._rests_until is not None:
            self.rest(self._rests_until - time.monotonic())
        with self.database.writer.begin() as connection:
            start_time = time.monotonic()
            yield connection
            rests = 1.0 if self.database.is_sqlite and _somebody_works(connection) else IDLE_REST
        seconds = time.monotonic() - start_time
        self.longest = max(self.longest, seconds)
        self.rows = max(1, min(MAX_ROWS, int(self.rows * min(2.0, SECONDS / max(seconds, 1e-6)))))
        self._rests_until = time.monotonic() + rests * seconds

    def run(self, work: Callable[[Connection], T]) -> T:
        """Return the result of `work` in a transaction. Repeat it if another transaction was in conflict with it."""
        for _ in range(MAX_CONFLICTS):
            with suppress(TransactionConflict), self.transaction() as connection:
                return work(connection)
        with self.transaction() as connection:
            return work(connection)

    def rest(self, seconds: float) -> None:
        if self.database.is_sqlite and seconds > 0:
            time.sleep(seconds)

    def touch(self, connection: Connection, job: str, state: JobState = JobState.SUBMITTING) -> None:
        """Record that this process is at work on the job. Raises SpecError if the job was removed meanwhile."""
        statement = update(JobRow).where(JobRow.id == job, JobRow.state == state)
        if not connection.execute(statement.values(not_before_at=now() + UNTOUCHED_SECONDS)).rowcount:
            raise SpecError(f"Job {job} was removed while it was being stored: submit it again.")
