"""Check, before a job is resumed in this process, that the plug-ins that its items need are installed."""

from __future__ import annotations

from typing import Any

from db.engine.connection import Connection
from db.kinds.states import JobState
from db.queue.figures import count_endings, progress
from lumos_queue.jobs.plugins import check_plugins
from lumos_queue.reports.completeness import completeness
from lumos_queue.settings import Settings


def check_resume(connection: Connection, settings: Settings, job: Any) -> None:
    """Raises SpecError if this process would run items of `job` (a row of the table) without the job's plug-ins.

    Call this before the job's state changes, so that a refused job stays as it is. In a deployment the workers check.
    """
    if settings.broker_url:
        return
    summary = completeness(job, progress(connection, job.id), count_endings(connection, job.id))
    if job.state != JobState.DONE or not summary.complete:
        check_plugins(job)
