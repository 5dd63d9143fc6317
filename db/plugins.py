"""The plug-ins of a job, as they were submitted, and as a person has accepted others since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import select, update

from db.connection import Database, clock
from db.jobs import lock_job
from db.models import JobRow
from lumos_queue.errors import SpecError

_CODE = ("distribution", "version", "digest")


def accept_plugins(database: Database, job: str, found: Sequence[Mapping[str, str]], accepted_by: str) -> list[str]:
    """Make `found` the plug-ins that the job needs; returns the names of those that are other code than before.

    What they were stays beside them, under `earlier`. Raises SpecError when the job is gone.
    """
    with database.writer.begin() as connection:
        if lock_job(connection, job) is None:
            raise SpecError(f"Job {job} was removed.")
        kept = connection.execute(select(JobRow.plugins).where(JobRow.id == job)).scalar()
        before = {(one["group"], one["name"]): one for one in kept or ()}
        at, changed, now_needed = clock(connection), [], []
        for one in found:
            was = before.get((one["group"], one["name"]))
            earlier = list(was.get("earlier", ())) if was else []
            if was is None or any(was[name] != one[name] for name in _CODE):
                changed.append(one["name"])
                former = {name: was[name] for name in _CODE} if was else {}
                earlier.append(former | {"until": at, "accepted_by": accepted_by})
            now_needed.append(dict(one) | ({"earlier": earlier} if earlier else {}))
        if changed:
            connection.execute(update(JobRow).where(JobRow.id == job).values(plugins=now_needed, not_before_at=0.0))
        return changed
