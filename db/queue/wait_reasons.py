"""Reasons of a wait, in the column `waiting` of a job, that code recognises by their text."""

from __future__ import annotations

from db.queue.stored_jobs import StoredJob

PAUSED_BY_PERSON = "resumed by a person"  #: the reason of a job that a person has paused
HOW = "lumos approve"  #: the command that ends the wait for a person's approval


def awaits_job(job: StoredJob) -> bool:
    """Whether a job waits for another job, which may have ended since."""
    return bool(job.awaits) and job.awaits in job.waiting  # otherwise the job has got another reason since
