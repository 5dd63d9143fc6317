"""Write and read constraints on plans as JSON: the signature, and the parts of experts that affect allowed plans."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lumos_queue.errors import SpecError
from lumos_queue.experts.base import Expert, Kind, Slot
from lumos_queue.experts.catalogue import EXPERTS
from lumos_queue.experts.plans import Signature


def write_plan_constraint(
    signature: Signature,
    registry: Iterable[Expert],
    goal_aware: bool,
    max_modules: int,
    branches: Iterable[Iterable[str]],
    until_branch: bool,
) -> dict[str, Any]:
    """Return the constraint as JSON. Aliases and descriptions of experts are not in it."""
    return {
        "inputs": _write_slots(signature.inputs),
        "output": str(signature.output),
        "experts": [
            {"name": expert.name, "slots": _write_slots(expert.slots), "output": str(expert.output)}
            for expert in registry
        ],
        "goal_aware": goal_aware,
        "max_modules": max_modules,
        "branches": [list(branch) for branch in branches],
        "until_branch": until_branch,
    }


def read_plan_constraint(value: object) -> dict[str, Any]:
    """Return the arguments of PlanConstraint. Raises SpecError for JSON that `write_plan_constraint` did not write."""
    try:
        if not isinstance(value, Mapping):
            raise TypeError
        settings = {
            "signature": Signature(_read_slots(value["inputs"]), Kind(value["output"])),
            "registry": tuple(_read_expert(expert) for expert in _check(value["experts"], list)),
            "goal_aware": _check(value["goal_aware"], bool),
            "max_modules": _check(value["max_modules"], int),
            "branches": tuple(
                tuple(_check(name, str) for name in _check(branch, list)) for branch in _check(value["branches"], list)
            ),
            "until_branch": _check(value["until_branch"], bool),
        }
    except (KeyError, TypeError, ValueError):
        raise SpecError(
            f"{str(value)[:200]!r} is not a constraint on plans: expected inputs, output, experts, goal_aware, "
            "max_modules, branches and until_branch, as PlanConstraint.as_json writes them."
        ) from None
    return settings


def _write_slots(slots: Iterable[Slot]) -> list[dict[str, str]]:
    return [{"name": slot.name, "kind": str(slot.kind)} for slot in slots]


def _read_slots(value: object) -> tuple[Slot, ...]:
    return tuple(Slot(_check(slot["name"], str), Kind(slot["kind"])) for slot in _check(value, list))


def _read_expert(value: Any) -> Expert:
    """Return the catalogue's expert if it has the same name, slots and output, else a new expert."""
    name, slots, output = _check(value["name"], str), _read_slots(value["slots"]), Kind(value["output"])
    catalogue_expert = EXPERTS.get(name)
    return (
        catalogue_expert
        if catalogue_expert and (catalogue_expert.slots, catalogue_expert.output) == (slots, output)
        else Expert(name, slots, output, "")
    )


def _check(value: Any, kind: type) -> Any:
    if type(value) is not kind:  # not isinstance: True is not a number of modules
        raise TypeError
    return value
