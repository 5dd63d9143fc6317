"""Describe how jobs that are displayed together differ: short (name, value) pairs, the most important first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from db.queue.stored_jobs import StoredJob
from lumos_queue.records import Role
from lumos_queue.reports.agent_requests import describe_field, describe_stop, describe_text
from lumos_queue.reports.model_names import models_of, name_models
from lumos_queue.reports.readers import find_reader

#: The most important names, in this order; other names of a request follow in alphabetical order.
_FIRST = (
    "name",
    "kind",
    "benchmark",
    "split",
    "rows",
    "limit",
    "samples",
    "formulation",
    "model",
    Role.PLANNER,
    Role.GROUNDER,
    Role.SOLVER,
    Role.POLICY,
    Role.TEACHER,
    "start",
    "weights",
    "seed",
    "temperature",
)
_LAST = ("folder", "code")
_ROLES = (Role.PLANNER, Role.GROUNDER, Role.SOLVER, Role.POLICY, Role.TEACHER, "start")
#: Fields at the top of a request that are also in the job's row, or that follow from its dataset.
_OF_ROW = frozenset(("benchmark", "dataset", "split", "formulation", "seed", "duplicates"))
#: Fields anywhere in a request that are models, which have their own names (model_names.py), or follow from others.
_NAMED_OTHERWISE = frozenset(("roles", "teacher", "start", "base", "dataset", "domain", "content"))
#: Names that are left out before the names in them; other names stay, as in `grounder max_tokens`.
_PLAIN = frozenset(
    (
        *("agent", "sampling", "samplings", "tools", "limits", "settings", "fit", "spec", "evaluation", "shape"),
        "definition",
    )
)
#: Names that follow from others: weights differ if the name of the model differs.
_FOLLOWS = {"weights": ("model", *_ROLES), "rows": ("benchmark", "split"), "formulation_version": ("formulation",)}
_SHORT = 12  #: characters of a digest

#: The model that a server reported, by job and by address (db.queries.job_endpoints.load_served_models).
Told = Mapping[str, Mapping[str, str]]


def differences(jobs: Sequence[StoredJob], served_models: Told | None = None) -> list[dict[str, str]]:
    """Return for each job its values, as text by name, of the facts in which the jobs differ.

    A job without a value for a fact lacks that name. Names of models are as short as possible without ambiguity. Values
    come from people, servers and files: escape them for display.
    """
    facts = [dict(_facts(job)) for job in jobs]
    for fact, models in zip(facts, _name_roles(jobs, served_models or {}), strict=True):
        fact |= models
    names = dict.fromkeys(name for fact in facts for name in fact)
    differ = [name for name in names if len({fact.get(name, "") for fact in facts}) > 1]
    differ = sorted((name for name in differ if not _follows(name, facts)), key=_rank)
    for name in differ:
        _shorten_paths(name, facts)
    return [{name: fact[name] for name in differ if fact.get(name, "") != ""} for fact in facts]


def describe_differences(pairs: Mapping[str, str]) -> list[str]:
    """Return the pairs of a job as lines: the value alone if it is clear without the name, otherwise as `seed 5`."""
    models = [name for name in pairs if name in _ROLES]
    plain = {"name", "kind", "benchmark", "split", "formulation", "model", *(models if len(models) == 1 else ())}
    return [value if name in plain else f"{name} {value}" for name, value in pairs.items()]


def _facts(job: StoredJob) -> Iterator[tuple[str, str]]:
    """Yield (name, value) of all facts of a job except its models."""
    for name in ("name", "kind", "benchmark", "split", "formulation", "chosen"):
        yield name, getattr(job, name, "") or ""
    yield "rows", (job.dataset or "")[:_SHORT]
    yield "seed", str(job.seed)
    yield "code", job.code_version
    request = job.spec.get("infer", job.spec)
    if reader := find_reader(job):
        yield "reader", reader
    yield from _flatten({key: value for key, value in request.items() if key not in _OF_ROW})


def _flatten(values: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """Yield (name, value) of all values of a request; nested values have compound names."""
    for key, value in values.items():
        if key in _NAMED_OTHERWISE:
            continue
        if key == "weights" and isinstance(value, Mapping):
            yield key, " ".join(dict.fromkeys(str(digest)[:_SHORT] for digest in value.values()))
        elif key == "stop" and isinstance(value, (list, tuple)):
            yield above + key, describe_stop(value)
        elif key == "request" and isinstance(value, Mapping):
            yield from ((f"{above}{key} {name}", describe_field(field)) for name, field in value.items())
        elif key in ("system", "prompt", "rubric") and isinstance(value, str):
            yield above + key, describe_text(value)
        elif isinstance(value, Mapping):
            yield from _flatten(value, above if key in _PLAIN else f"{above}{key} ")
        elif isinstance(value, (list, tuple)):
            yield above + key, f"{len(value):,}" if len(value) > 3 else ", ".join(map(str, value))
        elif value is not None:
            yield above + key, "yes" if value is True else "no" if value is False else str(value)


def _name_roles(jobs: Sequence[StoredJob], served_models: Told) -> list[dict[str, str]]:
    """Return the short names of each job's models by role, or as `model` if every job has one model in all roles."""
    models = [models_of(job, served_models.get(job.id)) for job in jobs]
    names = name_models(model for job_models in models for model in job_models.values())
    role_names = [{role: names[model] for role, model in job_models.items()} for job_models in models]
    if all(len(set(names_by_role.values())) <= 1 for names_by_role in role_names):
        return [{"model": next(iter(names_by_role.values()))} if names_by_role else {} for names_by_role in role_names]
    return role_names


def _follows(name: str, facts: Sequence[Mapping[str, str]]) -> bool:
    """Return whether jobs differ in the fact `name` only if they differ in the facts that imply it (_FOLLOWS)."""
    if name not in _FOLLOWS:
        return False
    grounds = [tuple(fact.get(ground, "") for ground in _FOLLOWS[name]) for fact in facts]
    return len(set(grounds)) == len(set(zip(grounds, (fact.get(name, "") for fact in facts), strict=True)))


def _shorten_paths(name: str, facts: Sequence[dict[str, str]]) -> None:
    """Replace absolute paths by their last parts, if these are different for different paths."""
    values = {fact[name] for fact in facts if fact.get(name)}
    short = {value: ", ".join(PurePosixPath(part).name for part in value.split(", ")) for value in values}
    if all(value.startswith("/") for value in values) and len(set(short.values())) == len(values):
        for fact in facts:
            if fact.get(name):
                fact[name] = short[fact[name]]


def _rank(name: str) -> tuple[int, str]:
    if name in _FIRST:
        return _FIRST.index(name), ""
    return len(_FIRST) + (1 + _LAST.index(name) if name in _LAST else 0), name
