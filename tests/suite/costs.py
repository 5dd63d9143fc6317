"""The costs of a recorded run, summed by kind, folder, file, test and fixture."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PHASES = ("setup", "call", "teardown")
KINDS = ("import", "database", "subprocess", "sleep")


@dataclass
class Costs:
    """Seconds of all workers together."""

    workers: int = 0
    seconds: float = 0.0
    processor: float = 0.0  #: CPU seconds of workers and of their ended child processes
    shares: Counter[str] = field(default_factory=Counter)
    folders: Counter[str] = field(default_factory=Counter)
    files: Counter[str] = field(default_factory=Counter)
    tests: Counter[str] = field(default_factory=Counter)
    fixtures: Counter[str] = field(default_factory=Counter)
    torch: set[str] = field(default_factory=set)  #: files whose tests use torch or transformers

    def add(self, label: str, cost: dict[str, float]) -> float:
        """Add one phase; return its seconds. CPU time of no kind counts as `label`, the rest as other waiting."""
        wall = cost.get("wall", 0.0)
        kind_seconds = {kind: cost.get(kind, 0.0) for kind in KINDS}
        computing_seconds = min(cost.get("cpu", 0.0), max(0.0, wall - sum(kind_seconds.values())))
        self.shares.update(kind_seconds)
        self.shares[label] += computing_seconds
        self.shares["other waiting (threads, sockets, disk, a busy machine)"] += max(
            0.0, wall - computing_seconds - sum(kind_seconds.values())
        )
        self.seconds += wall
        self.processor += cost.get("cpu", 0.0) + cost.get("children", 0.0)
        return wall


def read_costs(folder: Path) -> Costs:
    """Sum the records of a run."""
    costs = Costs()
    for path in sorted(folder.glob("*.jsonl")):
        for record in _read_records(path):
            if "collection" in record:
                costs.workers += 1
                costs.processor += record["start"]
                costs.add("collection without imports", record["collection"])
            else:
                _add_test(costs, record)
    return costs


def _read_records(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            # The controller of a run with workers collects nothing.
            if "test" in record or record["collection"].get("cpu", 0.0) > 0.01:
                yield record


def _add_test(costs: Costs, record: dict[str, Any]) -> None:
    name = record["test"]
    file = name.partition("::")[0]
    seconds = sum(costs.add("computing in tests", record.get(phase, {})) for phase in PHASES)
    costs.tests[name] += seconds
    costs.files[file] += seconds
    costs.folders[file.rpartition("/")[0]] += seconds
    for fixture, base, _, duration in record["fixtures"]:
        costs.fixtures[f"{fixture} ({base or 'tests'})"] += duration
    if record["heavy"]:
        costs.torch.add(file)
