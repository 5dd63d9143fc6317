"""Check that a judge can be sent the results of a job."""

from __future__ import annotations

from db.kinds.job_kinds import RUNS
from db.kinds.states import JobState
from db.queue.stored_jobs import StoredJob
from lumos_queue.errors import SpecError


def check_judgeable(job: StoredJob, results: str) -> None:
    """Raise SpecError for a job that has no `results` ('runs' or 'answers'), or whose results may change."""
    if job.kind not in RUNS:
        raise SpecError(
            f"Job {job.id} is of kind '{job.kind}' and has no {results} to judge: name one of infer or evaluate."
        )
    if job.state not in (JobState.DONE, JobState.CANCELLED):
        raise SpecError(
            f"Job {job.id} is {job.state}, so its {results} may still change: wait for it (lumos job {job.id}), or end "
            f"it with lumos cancel {job.id}."
        )
