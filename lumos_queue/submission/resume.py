"""Before a job goes on in this process: whether anything of it is left to run, and whether its plug-ins are here."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

from db.figures import count_endings, progress
from db.states import JobState
from lumos_queue.jobs.plugins import check_plugins
from lumos_queue.reports.completeness import completeness
from lumos_queue.settings import Settings


def check_resume(connection: Connection, settings: Settings, job: Any) -> None:
    """Raises SpecError where this process would work on a job (its row) without the plug-ins that it needs.

    It is asked before the job's state is changed: one that is refused stays as it is. In a deployment workers tell.
    """
    if settings.broker_url:
        return
    summary = completeness(job, progress(connection, job.id), count_endings(connection, job.id))
    if job.state != JobState.DONE or not summary["complete"]:
        check_plugins(job)
