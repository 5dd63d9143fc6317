"""Jobs by kind: from the stored JSON to the value."""

from __future__ import annotations

from typing import Any

from lumos_queue.errors import unknown
from lumos_queue.jobs.base import Job

KINDS = ("convert", "train", "infer", "evaluate")


def read_job(kind: str, spec: dict[str, Any]) -> Job:
    """The job whose `as_json` is `spec`. Raises SpecError for a kind that is none of the four."""
    match kind:
        case "evaluate":
            from lumos_queue.jobs.evaluate import Evaluate

            return Evaluate.from_json(spec)
        case "infer":
            from lumos_queue.jobs.infer import Infer

            return Infer.from_json(spec)
        case "convert":
            from lumos_queue.jobs.convert import Convert

            return Convert.from_json(spec)
        case "train":
            from lumos_queue.jobs.train import Train

            return Train.from_json(spec)
    raise unknown("kind of job", kind, KINDS)
