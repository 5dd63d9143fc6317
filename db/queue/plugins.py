"""The plug-ins that a job needs: as they were when it was submitted, or as a person has accepted them since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import select, update

from db.engine.connection import Database, clock
from db.models import JobRow
from db.queue.job_changes import lock_job
from lumos_queue.errors import SpecError

_CODE = ("distribution", "version", "digest")


def accept_plugins(database: Database, job: str, plugins: Sequence[Mapping[str, str]], person: str) -> list[str]:
    """Store `plugins` as the plug-ins that the job needs; return the names of the plug-ins whose code has changed.

    The former plug-ins are stored under the key `earlier`. Raises SpecError when the job was removed.
    """
    with database.writer.begin() as connection:
        if lock_job(connection, job) is None:
            raise SpecError(f"Job {job} was removed.")
        stored_plugins = connection.execute(select(JobRow.plugins).where(JobRow.id == job)).scalar()
        before = {(plugin["group"], plugin["name"]): plugin for plugin in stored_plugins or ()}
        timestamp = clock(connection)
        changed_names: list[str] = []
        new_plugins: list[dict[str, object]] = []
        for plugin in plugins:
            previous = before.get((plugin["group"], plugin["name"]))
            earlier: list[dict[str, object]] = list(previous.get("earlier", ())) if previous else []
            if previous is None or any(previous[name] != plugin[name] for name in _CODE):
                changed_names.append(plugin["name"])
                former = {name: previous[name] for name in _CODE} if previous else {}
                earlier.append({**former, "until": timestamp, "accepted_by": person})
            new_plugins.append({**plugin, **({"earlier": earlier} if earlier else {})})
        if changed_names:
            connection.execute(update(JobRow).where(JobRow.id == job).values(plugins=new_plugins, not_before_at=0.0))
        return changed_names
