"""Compare the kept sums of a job with the sums over its rows, and repair them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import Connection, delete, func, select

from db.engine.conditions import Query
from db.engine.connection import Database
from db.engine.snapshot import reading
from db.kinds.states import HIDDEN, OPEN, ItemState, JobState
from db.models import Item, JobRow
from db.queue.job_changes import lock_job
from db.queue.sums import TABLES, add_counted, count_ended
from lumos_queue.errors import SpecError

SECONDS = 1e-6  #: relative difference allowed between sums of seconds, which are added up in different orders


@dataclass(frozen=True, slots=True)
class Difference:
    """A stored row of sums that differs from the sums over the job's rows."""

    job: str
    table: str
    key: tuple[object, ...]  #: the key of the row of sums, less the job
    stored: dict[str, float]
    counted: dict[str, float]

    def __str__(self) -> str:
        wrong = [name for name in self.counted if not _agree(self.stored[name], self.counted[name])]
        figures = ", ".join(f"{name} {self.stored[name]:g} kept, {self.counted[name]:g} counted" for name in wrong)
        return f"{self.table} {' '.join(map(str, self.key))}: {figures}"


def recount(database: Database) -> Iterator[tuple[str, list[Difference]]]:
    """Yield each job with the differences between its kept sums and its rows, read in one snapshot of the database."""
    with database.engine.connect() as connection:
        jobs = list(
            connection.execute(select(JobRow.id).where(JobRow.state.not_in(HIDDEN)).order_by(JobRow.id)).scalars()
        )
    for job in jobs:
        with reading(database) as connection:
            yield job, differences(connection, job)


def differences(connection: Connection, job: str) -> list[Difference]:
    """Find where the job's sums over all sessions differ from the sums over its rows."""
    mismatches: list[Difference] = []
    for table, query in count_ended(Item.job == job, connection.dialect.name).items():
        keys = [column.name for column in table.__table__.primary_key if column.name not in ("job", "session")]
        names = [column.name for column in table.__table__.columns if not column.primary_key]
        columns = [getattr(table, name) for name in keys]
        sums = [func.sum(getattr(table, name)).label(name) for name in names]
        kept_sums = _by_key(connection, select(*columns, *sums).where(table.job == job).group_by(*columns), keys, names)
        right = _by_key(connection, query, keys, names)
        zero = dict.fromkeys(names, 0.0)
        for key in sorted(kept_sums.keys() | right.keys(), key=str):
            kept_row, counted_row = kept_sums.get(key, zero), right.get(key, zero)
            if not all(_agree(kept_row[name], counted_row[name]) for name in names):
                mismatches.append(Difference(job, table.__tablename__, key, kept_row, counted_row))
    return mismatches


def repair(database: Database, job: str) -> None:
    """Replace the sums of a job by the sums over its rows. Raises SpecError while the job is being worked on."""
    with database.writer.begin() as connection:
        row = lock_job(connection, job)
        query = select(func.count()).where(Item.job == job, Item.state == ItemState.CLAIMED)
        if row is None or row.state in (*OPEN, JobState.CANCELLING) or connection.execute(query).scalar_one():
            raise SpecError(f"Job {job} is being worked on: pause it first with: lumos pause {job}")
        for table in TABLES:
            connection.execute(delete(table).where(table.job == job))
        add_counted(connection, 0, Item.job == job)


def _by_key(
    connection: Connection, query: Query, keys: list[str], names: list[str]
) -> dict[tuple[object, ...], dict[str, float]]:
    rows = connection.execute(query).mappings()
    return {tuple(row[name] for name in keys): {name: float(row[name]) for name in names} for row in rows}


def _agree(first: float, second: float) -> bool:
    return math.isclose(first, second, rel_tol=SECONDS, abs_tol=SECONDS) if first % 1 or second % 1 else first == second
