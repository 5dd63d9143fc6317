"""Report how replies ended, by role, and which answer reader a job uses."""

from __future__ import annotations

from collections.abc import Mapping

from db.engine.connection import Connection
from db.kinds.job_kinds import RUNS
from db.queries.reply_endings import ReplyEndings, count_reply_endings
from db.queue.stored_jobs import StoredJob
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.prompts.answer_reading import find_stored_reader

MAX_COUNTED = 200_000  #: limit of the items of a job whose replies are counted, because each row is read


def reply_endings(connection: Connection, job: StoredJob) -> Mapping[str, ReplyEndings] | None:
    """Return how replies ended, by role.

    Return None if no model was called, and for jobs with more than MAX_COUNTED items, whose replies take too long to
    read.
    """
    return (count_reply_endings(connection, job.id) or None) if job.items <= MAX_COUNTED else None


def find_reader(job: StoredJob) -> str | None:
    """Return the name of the answer reader of a job; None for a formulation without readers."""
    formulation = FORMULATIONS.find(job.formulation)
    if formulation is None or formulation.phrase is None or job.kind not in RUNS:
        return None
    return find_stored_reader(job.spec.get("infer", job.spec))
