"""How the replies of each role ended, and how answers are read from them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection

from db.reply_endings import count_reply_endings
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.prompts.answer_reading import stored_reader

MAX_COUNTED = 200_000  #: items of a job whose replies are counted: each row is read


def reply_endings(connection: Connection, job: Any) -> dict[str, Any]:
    """`reply_endings` of a job's row: by role the replies, those cut at the limit of tokens (`cut`), and `unanswered`.

    `unanswered` counts the episodes without an answer of which the role wrote the last reply. Empty if no model was
    called, and for jobs of more than 200,000 items, whose replies take too long to read.
    """
    endings = count_reply_endings(connection, job.id) if job.items <= MAX_COUNTED else {}
    return {"reply_endings": {role: asdict(counts) for role, counts in endings.items()}} if endings else {}


def describe_reader(job: Any) -> dict[str, Any]:
    """`reader`: how the job (its row) reads answers from replies; empty for a formulation without readers."""
    formulation = FORMULATIONS.find(job.formulation)
    if formulation is None or formulation.phrase is None or job.kind not in ("infer", "evaluate"):
        return {}
    return {"reader": stored_reader(job.spec.get("infer", job.spec))}
