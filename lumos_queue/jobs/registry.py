"""Read stored jobs by their kind."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any, Protocol, get_type_hints

from db.kinds.job_kinds import JobKind
from db.queries.damage import find_gaps, find_spec_damage
from lumos_queue.errors import SpecError
from lumos_queue.jobs.base import Job
from lumos_queue.util.registry import Registry


class JobClass(Protocol):
    """The interface of the class of a kind of job, which reads stored jobs."""

    def from_json(self, value: dict[str, Any], /) -> Job[Any]: ...


KINDS: Registry[JobClass] = Registry(
    "kind of job",
    {
        JobKind.CONVERT: "lumos_queue.jobs.convert:Convert",
        JobKind.TRAIN: "lumos_queue.jobs.train:Train",
        JobKind.INFER: "lumos_queue.jobs.infer:Infer",
        JobKind.EVALUATE: "lumos_queue.jobs.evaluate:Evaluate",
    },
)


def read_job(kind: str, spec: dict[str, Any]) -> Job[Any]:
    """Return the job of this kind from `spec`, its stored JSON. Raises SpecError for an unknown kind or damage."""
    if problem := find_spec_damage(spec):
        raise SpecError(f"The stored request cannot be read: {problem}.")
    try:
        job = KINDS.load(kind).from_json(spec)
        _check_types(job)
        return job
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        problem = find_gaps(kind, spec) or f"{type(error).__name__}: {error}"
        raise SpecError(f"The stored request cannot be read: {problem}.") from None


_SIMPLE: dict[object, type | tuple[type, ...]] = {str: str, int: int, float: (int, float), bool: bool}


def _check_types(value: object) -> None:
    """Raise TypeError for a field of a dataclass, at any depth, that should be text, a number or a bool, and is not."""
    if not is_dataclass(value):
        return
    hints = get_type_hints(type(value))
    for dataclass_field in fields(value):
        part, plain_type = getattr(value, dataclass_field.name), _SIMPLE.get(hints.get(dataclass_field.name))
        if plain_type and not isinstance(part, plain_type):
            raise TypeError(f"{dataclass_field.name} is {part!r:.60}")
        _check_types(part)
