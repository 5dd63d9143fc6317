"""Report how replies ended, by role, and which answer reader a job uses."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from db.engine.connection import Connection
from db.kinds.job_kinds import RUNS
from db.queries.reply_endings import count_reply_endings
from db.queue.stored_jobs import StoredJob
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.prompts.answer_reading import find_stored_reader

MAX_COUNTED = 200_000  #: limit of the items of a job whose replies are counted, because each row is read


def reply_endings(connection: Connection, job: StoredJob) -> dict[str, Any]:
    """Return `reply_endings` of a job by role: replies, replies cut at the limit of tokens, and `unanswered`.

    `unanswered` counts the episodes without an answer whose last reply is the role's. The mapping is empty if no model
    was called, and for jobs with more than MAX_COUNTED items, whose replies take too long to read.
    """
    endings = count_reply_endings(connection, job.id) if job.items <= MAX_COUNTED else {}
    return {"reply_endings": {role: asdict(counts) for role, counts in endings.items()}} if endings else {}


def describe_reader(job: StoredJob) -> dict[str, Any]:
    """Return `reader`, the name of the answer reader of a job; {} for a formulation without readers."""
    formulation = FORMULATIONS.find(job.formulation)
    if formulation is None or formulation.phrase is None or job.kind not in RUNS:
        return {}
    return {"reader": find_stored_reader(job.spec.get("infer", job.spec))}
