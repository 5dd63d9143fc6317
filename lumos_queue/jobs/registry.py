"""Jobs by kind: from the stored JSON to the value."""

from __future__ import annotations

from typing import Any, Protocol

from db.damaged import find_gaps, find_spec_damage
from lumos_queue.errors import SpecError
from lumos_queue.jobs.base import Job
from lumos_queue.util.registry import Registry


class JobKind(Protocol):
    """The class of a job, as far as stored jobs are read by it."""

    def from_json(self, value: dict[str, Any], /) -> Job[Any]: ...


KINDS: Registry[JobKind] = Registry(
    "kind of job",
    {
        "convert": "lumos_queue.jobs.convert:Convert",
        "train": "lumos_queue.jobs.train:Train",
        "infer": "lumos_queue.jobs.infer:Infer",
        "evaluate": "lumos_queue.jobs.evaluate:Evaluate",
    },
)


def read_job(kind: str, spec: dict[str, Any]) -> Job[Any]:
    """The job whose `as_json` is `spec`. Raises SpecError for a kind that is none of the four, and a damaged `spec`."""
    if not isinstance(spec, dict) or (problem := find_spec_damage(spec) or find_gaps(kind, spec)):
        raise SpecError(f"The stored request cannot be read: {problem if isinstance(spec, dict) else 'no object'}.")
    try:
        return KINDS.load(kind).from_json(spec)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise SpecError(f"The stored request cannot be read: {type(error).__name__}: {error}.") from None
