"""A pytest plugin for the tests of mutants: it runs quick tests first, and no test that is slow or needs a server.

mutmut ends a run at the first test that fails, and its fork server names tests in no order: most mutants cost a few
milliseconds when the quick ones come first.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import tests.services

SERVERS = ("postgres", "redis", "rabbitmq", "mysql")
LONGEST = 10.0  #: limit of a test in seconds; a slower test would run for each mutant that other tests miss
USUAL_WAIT = tests.services.WAIT_SECONDS
DURATIONS = Path("mutmut-stats.json")  #: of mutmut, in the folder of its tests; missing in the first run


def needs_server(item: pytest.Item) -> bool:
    """Whether a test has a fixture or a parameter of a server, such as `[postgresql]`."""
    parameters = getattr(getattr(item, "callspec", None), "id", "")
    return any(server in name for name in (*getattr(item, "fixturenames", ()), parameters) for server in SERVERS)


def pytest_configure() -> None:
    """Keep the name of the mutant from child processes, whose calls mutmut cannot count.

    Tests wait for an event no longer than for a slow test: otherwise a mutant that prevents the event would count as a
    time-out, which takes longer, and not as killed.
    """
    os.environ.pop("MUTANT_UNDER_TEST", None)
    tests.services.WAIT_SECONDS = LONGEST


def pytest_unconfigure() -> None:
    """Restore the limit for later runs of this process."""
    tests.services.WAIT_SECONDS = USUAL_WAIT


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Exclude tests that are slow or start a server, and sort the others by duration."""
    durations = json.loads(DURATIONS.read_text())["duration_by_test"] if DURATIONS.is_file() else {}
    seconds = {item: durations.get(item.nodeid, 0.0) for item in items}
    excluded_items = [item for item in items if needs_server(item) or seconds[item] > LONGEST]
    config.hook.pytest_deselected(items=excluded_items)
    items[:] = sorted(set(items) - set(excluded_items), key=lambda item: (seconds[item], item.nodeid))
