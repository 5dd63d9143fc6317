"""The 185 tasks of OpenAGI as the specification beside the checkout lists them; none of it is part of the project."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from lumos_queue.experts.base import Kind, Slot
from lumos_queue.experts.plans import Plan, Signature

LISTED = Path(__file__).resolve().parents[2] / "shared" / "spec" / "openagi_tasks.csv"
_CHANNELS = {
    "image": (Slot("image", Kind.IMAGE),),
    "text": (Slot("text", Kind.TEXT),),
    "image+text": (Slot("image", Kind.IMAGE), Slot("question", Kind.TEXT)),
    "text+text": (Slot("document", Kind.TEXT), Slot("question", Kind.TEXT)),
}


@dataclass(frozen=True)
class Listed:
    """One row of the list."""

    row: dict[str, str]
    plan: Plan
    signature: Signature


def list_tasks() -> list[Listed]:
    """All rows. Skips the test where the list is absent, and fails it on CI."""
    if not LISTED.is_file():
        (pytest.fail if os.environ.get("CI") else pytest.skip)("needs the list of tasks in ../shared/spec")
    with LISTED.open(newline="") as file:
        return [_read(row) for row in csv.DictReader(file)]


def _read(row: dict[str, str]) -> Listed:
    return Listed(row, read_gold(row["gold_plan"]), _signature(row["category"]))


def _signature(category: str) -> Signature:
    inputs, _, output = category.partition("-")
    return Signature(_CHANNELS[inputs], Kind(output))


def read_gold(text: str) -> Plan:
    """The plan of the list's own notation: `(A > B) & (identity) > J > D`."""
    branches = []
    while text.startswith("("):
        inside, _, text = text[1:].partition(")")
        branches.append(tuple(name for name in inside.split(" > ") if name != "identity"))
        text = text.removeprefix(" & ").removeprefix(" > ")
    return Plan(tuple(branches), tuple(text.split(" > ")) if text else ())
