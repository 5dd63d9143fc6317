"""A pytest plugin for the tests of mutants: quick tests first, none that is slow or needs a server.

mutmut ends a run at the first test that fails, and its fork server names tests in no order: most mutants cost a few
milliseconds when the quick ones come first.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

SERVERS = ("postgres", "redis", "rabbitmq", "mysql")
LONGEST = 10.0  #: seconds that a test may have taken; a longer one would be run for each mutant that others miss
DURATIONS = Path("mutmut-stats.json")  #: mutmut's, in the folder it runs tests in; it is not there on the first run


def needs_server(item: pytest.Item) -> bool:
    """Whether a test asks for a server, by one of its fixtures or by a parameter such as `[postgresql]`."""
    parameters = getattr(getattr(item, "callspec", None), "id", "")
    return any(server in name for name in (*getattr(item, "fixturenames", ()), parameters) for server in SERVERS)


def pytest_configure() -> None:
    """Tell only this process which mutant is tested: mutmut cannot count what runs in a process that a test starts."""
    os.environ.pop("MUTANT_UNDER_TEST", None)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what takes long or would start a server for each mutant, and sort the rest by how long it took."""
    durations = json.loads(DURATIONS.read_text())["duration_by_test"] if DURATIONS.is_file() else {}
    seconds = {item: durations.get(item.nodeid, 0.0) for item in items}
    excluded_items = [item for item in items if needs_server(item) or seconds[item] > LONGEST]
    config.hook.pytest_deselected(items=excluded_items)
    items[:] = sorted(set(items) - set(excluded_items), key=lambda item: (seconds[item], item.nodeid))
