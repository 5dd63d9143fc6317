"""What a job's column `waiting` says, in as far as code looks at it."""

from __future__ import annotations

from sqlalchemy import Row

PAUSED_BY_PERSON = "resumed by a person"  #: what a job waits for that a person has paused
HOW = "lumos approve"  #: the command that ends the wait for a person's approval


def awaits_job(job: Row) -> bool:
    """Whether what a job (its row) waits for is another job, which may have ended since."""
    return bool(job.awaits) and job.awaits in job.waiting  # else it has met something since
