"""Find damaged rows of jobs: rows that a person, another program or a failing disk has made unreadable.

Lists include such a job and mark it as damaged. A command that names it fails with one line.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, TypeVar

from sqlalchemy import Column, Table

from db.engine.json_columns import UnreadableJson, is_list, is_object
from db.kinds.job_kinds import RUNS, JobKind
from db.kinds.pools import POOLS
from db.kinds.states import JobState
from db.models import JobRow
from db.queries.filters import parse_where
from lumos_queue.errors import SpecError
from lumos_queue.records import Origin

MAX_DEPTH = 60  #: of lists and objects in a request; those of this code have fewer than ten
MAX_SECONDS = 253_402_300_799  #: since 1970, at the end of the year 9999
_NAMES: dict[type, str] = {
    dict: "an object",
    list: "a list",
    str: "a text",
    bool: "true or false",
    int: "a whole number",
}
#: Fields that the request of each kind of job must have.
_REQUIRED: dict[str, tuple[str, ...]] = {
    JobKind.TRAIN: ("recipe",),
    JobKind.INFER: ("benchmark", "formulation", "agent"),
    JobKind.EVALUATE: ("infer",),
}
_TEXTS = (
    *("at_limit", "benchmark", "dataset", "domain", "formulation", "module", "prompt", "source", "split"),
    *("system", "teacher", "teacher_vision", "vision", "vote"),
)
_OBJECTS = ("agent", "definition", "evaluation", "infer", "limits", "roles", "sampling", "samplings", "tools")
_COUNTS = ("items", "waits", "concurrency")


JobValues = TypeVar("JobValues")


class DamagedJob(SpecError):
    """Raised when a command names a job whose row is damaged."""

    def __init__(self, job: str, problem: str):
        super().__init__(
            f"Job {job} is damaged: {problem}. Bring its row back from a copy of the database, or remove the job with: "
            f"lumos rm {job} (lumos cancel {job} stops it)"
        )
        self.problem = problem


def find_damage(job: object) -> str:
    """Describe the first unreadable value of a StoredJob, or of a row with some of its columns; '' if none is."""
    return next(_find_problems({name: getattr(job, name) for name in _COLUMNS if hasattr(job, name)}), "")


def find_value_damage(table: Table, row: Any) -> str:
    """Describe the first value of a table's row that has another type than its column; '' if all are readable."""
    problems = (_column_problems(column, row._mapping[column.name]) for column in table.columns)
    return next(chain.from_iterable(problems), "")


def find_spec_damage(spec: object) -> str:
    """Describe the first unreadable value in a job's stored request; '' if all are readable."""
    return next(_spec_problems(spec), "")


def find_gaps(kind: str, spec: Mapping[str, Any]) -> str:
    """Describe the first missing field of a readable stored request; '' if it is complete."""
    infer = spec.get("infer", {}) if kind == JobKind.EVALUATE else spec
    agent = infer.get("agent", {})
    parts = [("spec", spec, _REQUIRED.get(kind, ()))]
    if kind == JobKind.EVALUATE:
        parts.append(("spec.infer", infer, _REQUIRED["infer"]))
    if kind in RUNS:
        parts.append(("spec agent", agent, ("domain", "roles", "sampling")))
    gaps = (f"its {path} has no '{name}'" for path, part, names in parts for name in names if name not in part)
    return next(gaps, "")


def sound_jobs(jobs: Iterable[JobValues]) -> list[JobValues]:
    """Return the jobs that are not damaged (see find_damage), in the same order."""
    return [job for job in jobs if not find_damage(job)]


def _find_problems(values: Mapping[str, Any]) -> Iterator[str]:
    for name, value in values.items():
        yield from _column_problems(_COLUMNS[name], value)
    for name in _COUNTS:
        if values.get(name, 0) < 0:
            yield f"its {name} is {values[name]}, expected 0 or more"
    if (state := values.get("state", JobState.DONE)) not in tuple(JobState):
        yield f"its state is '{state[:40]}', expected {', '.join(JobState)}"
    if (origin := values.get("origin", Origin.RUN)) not in tuple(Origin):
        yield f"its origin is '{origin[:40]}', expected {', '.join(Origin)}"
    if (pool := values.get("pool", POOLS[0])) not in POOLS:
        yield f"its pool is '{pool[:40]}', expected {', '.join(POOLS)}"
    if "spec" in values:
        yield from _spec_problems(values["spec"])
    if selection := values.get("chosen"):
        try:
            parse_where(selection)
        except SpecError:
            yield "its chosen is no filter"
    plugins: object = values.get("plugins") or []
    if not (is_list(plugins) and all(is_object(plugin) for plugin in plugins)):
        yield "its plugins are not a list of objects"


_COLUMNS = {column.name: column for column in JobRow.__table__.columns}
_NUMBERS: dict[type, tuple[type, ...]] = {int: (int,), float: (int, float), bool: (int, bool)}


def _column_problems(column: Column[Any], value: Any) -> Iterator[str]:
    """Yield the problems of a column's value, such as a wrong type: SQLite stores any value in any column."""
    name = column.name
    expected_type = column.type.python_type if column.type.python_type in _NUMBERS else str
    if isinstance(value, UnreadableJson):
        yield f"its {name} is {value.problem}"
    elif value is None:
        if not column.nullable and name != "spec":
            yield f"its {name} is missing"
    elif name in ("spec", "plugins"):
        return
    elif not isinstance(value, _NUMBERS.get(expected_type, str)) or (
        isinstance(value, bool) and expected_type is not bool
    ):
        yield f"its {name} is {_describe(value)}, expected {_NAMES.get(expected_type, 'a number')}"
    elif expected_type is float and not (math.isfinite(value) and abs(value) <= MAX_SECONDS):
        yield f"its {name} is {value}, which is no time"


def _spec_problems(spec: object) -> Iterator[str]:
    if isinstance(spec, UnreadableJson):
        yield f"its spec is {spec.problem}"
    elif not is_object(spec):
        yield f"its spec is {_describe(spec)}, expected an object"
    elif _is_deep(spec):
        yield "its spec is nested too deeply"
    elif "recipe" in spec:  # of a training; its other values are the recipe's own
        if not isinstance(spec["recipe"], str):
            yield f"its spec.recipe is {_describe(spec['recipe'])}, expected a text"
    else:
        yield from _request_problems("spec", spec)
        for name in ("infer", "evaluation"):
            if is_object(part := spec.get(name)):
                yield from _request_problems(f"spec.{name}", part)


def _request_problems(path: str, request: Mapping[str, object]) -> Iterator[str]:
    """Yield the problems of those values of a request that lists and reports read."""
    for name, value in request.items():
        if name in _TEXTS and not isinstance(value, str):
            yield f"its {path}.{name} is {_describe(value)}, expected a text"
        elif name in _OBJECTS and not is_object(value):
            yield f"its {path}.{name} is {_describe(value)}, expected an object"
        elif name == "samples" and (not isinstance(value, int) or value < 1):
            yield f"its {path}.samples is {_describe(value)}, expected 1 or more"
    agent = request.get("agent")
    if is_object(agent):
        yield from _request_problems(f"{path}.agent", agent)
    roles = request.get("roles")
    if is_object(roles) and not all(isinstance(url, str) for url in roles.values()):
        yield f"its {path}.roles are not all texts"


def _is_deep(value: object) -> bool:
    layer: list[object] = [value]
    depth = 0
    while layer:
        depth += 1
        if depth > MAX_DEPTH:
            return True
        layer = [
            inner
            for outer in layer
            for inner in (outer.values() if is_object(outer) else outer if is_list(outer) else ())
        ]
    return False


def _describe(value: object) -> str:
    if value is None:
        return "null"
    return _NAMES.get(type(value), "a number" if isinstance(value, float) else type(value).__name__)
