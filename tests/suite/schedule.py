"""Plugin: assign tests to workers, and order them.

A unit is a set of tests that one worker runs in a row: a file, so that the fixtures of a module are made once. All
files that import torch are one unit, so that few workers import it; or two units if one would keep a worker busy to the
end. Units with the longest recorded time start first. `python -m tests.suite` records the times.
"""

from __future__ import annotations

import functools
import json
import os
import statistics
from dataclasses import dataclass
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

FILE = Path(__file__).with_name("times.json")
#: Every test that was collected, and whether it is marked as long.
COLLECTED = pytest.StashKey[dict[str, bool]]()


@dataclass(frozen=True)
class Times:
    """The records of the test files, by path from the root of the repository."""

    seconds: dict[str, float]
    torch: frozenset[str]  #: files whose tests import torch

    def of(self, file: str) -> float:
        """Return the seconds of a file's tests; the median for a file without a record."""
        return self.seconds.get(file, statistics.median(self.seconds.values()) if self.seconds else 0.0)

    @functools.cached_property
    def units(self) -> dict[str, str]:
        """The unit of each file that shares it with other files."""
        total = sum(self.seconds.values())
        lengths = {"torch 1": 0.0}
        if sum(map(self.of, self.torch)) > total / 3:
            lengths["torch 2"] = 0.0
        units = {}
        for file in sorted(self.torch, key=lambda file: (-self.of(file), file)):
            units[file] = min(lengths, key=lambda unit: lengths[unit])
            lengths[units[file]] += self.of(file)
        return units

    def unit_of(self, nodeid: str) -> str:
        """Return the unit of a test."""
        file = nodeid.partition("::")[0]
        return self.units.get(file, file)

    def unit_seconds(self, files: set[str]) -> dict[str, float]:
        """Return the seconds of each unit of these files."""
        seconds: dict[str, float] = {}
        for file in files:
            seconds[self.unit_of(file)] = seconds.get(self.unit_of(file), 0.0) + self.of(file)
        return seconds


def read_times(file: Path = FILE) -> Times:
    """Read the recorded times; without a file they are empty."""
    record = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {"seconds": {}, "torch": []}
    return Times(record["seconds"], frozenset(record["torch"]))


class LongestFirst(LoadScopeScheduling):
    """Hands out whole units in the order of the collected tests."""

    def __init__(self, config: pytest.Config, log: object, times: Times):
        config.option.loadscopereorder = False
        super().__init__(config, log)  # type: ignore[arg-type]
        self._split_scope = functools.cache(times.unit_of)  # type: ignore[method-assign]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--shuffle", action="store_true", help="random order; --randomly-seed repeats that of a run")


def pytest_configure(config: pytest.Config) -> None:
    config.option.randomly_reorganize = config.getoption("--shuffle")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LongestFirst:
    return LongestFirst(config, log, read_times())


def pytest_itemcollected(item: pytest.Item) -> None:
    long_marks = item.config.stash.setdefault(COLLECTED, {})
    long_marks[item.nodeid] = item.get_closest_marker("long") is not None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.option.randomly_reorganize:
        return  # pytest-randomly has put them in a random order
    times = read_times()
    seconds = times.unit_seconds({item.nodeid.partition("::")[0] for item in items})
    items.sort(key=lambda item: (-seconds[times.unit_of(item.nodeid)], times.unit_of(item.nodeid)))


@pytest.hookimpl(optionalhook=True)  # `make mutants` runs tests without xdist
def pytest_xdist_auto_num_workers() -> int:
    """`-n auto`: two for each core, as tests wait for half of their time; at most six."""
    return min(6, 2 * (os.cpu_count() or 1))
