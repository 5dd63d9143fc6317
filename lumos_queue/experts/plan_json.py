"""Constraints on plans as JSON: the experts and the task's signature, as far as they decide which plans there are."""

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
    """JSON; what experts are called besides, and what they are for, is not in it."""
    return {
        "inputs": _write_slots(signature.inputs),
        "output": str(signature.output),
        "experts": [
            {"name": one.name, "slots": _write_slots(one.slots), "output": str(one.output)} for one in registry
        ],
        "goal_aware": goal_aware,
        "max_modules": max_modules,
        "branches": [list(branch) for branch in branches],
        "until_branch": until_branch,
    }


def read_plan_constraint(value: object) -> dict[str, Any]:
    """What PlanConstraint is made with. Raises SpecError for what `write_plan_constraint` did not write."""
    try:
        if not isinstance(value, Mapping):
            raise TypeError
        read = {
            "signature": Signature(_read_slots(value["inputs"]), Kind(value["output"])),
            "registry": tuple(_read_expert(one) for one in _check(value["experts"], list)),
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
    return read


def _write_slots(slots: Iterable[Slot]) -> list[dict[str, str]]:
    return [{"name": one.name, "kind": str(one.kind)} for one in slots]


def _read_slots(value: object) -> tuple[Slot, ...]:
    return tuple(Slot(_check(one["name"], str), Kind(one["kind"])) for one in _check(value, list))


def _read_expert(value: Any) -> Expert:
    """That of the catalogue where it has the same slots and output."""
    name, slots, output = _check(value["name"], str), _read_slots(value["slots"]), Kind(value["output"])
    known = EXPERTS.get(name)
    return known if known and (known.slots, known.output) == (slots, output) else Expert(name, slots, output, "")


def _check(value: Any, kind: type) -> Any:
    if type(value) is not kind:  # not isinstance: True is not a number of modules
        raise TypeError
    return value
