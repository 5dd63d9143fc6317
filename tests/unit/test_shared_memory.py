"""What children of a Celery worker share with their parent: imported and frozen before the fork."""

import functools
import json
import subprocess
import sys

import pytest

#: Prints what a worker would have loaded before it forks, and what its collector would leave alone after two slices.
SCRIPT = """
import asyncio, gc, json, sys
import workers.tasks
from lumos_queue.settings import Settings
from workers.event_loop import run_on_loop
from workers.preload import preload

if sys.argv[1]:
    preload(Settings(database_url=sys.argv[2]))
frozen = [gc.get_freeze_count()]
for _ in range(2):
    run_on_loop(asyncio.sleep(0))
    frozen.append(gc.get_freeze_count())
print(json.dumps({"modules": list(sys.modules), "frozen": frozen}))
"""


@functools.cache
def _found(preloads: str, database_url: str) -> dict:
    command = [sys.executable, "-c", SCRIPT, preloads, database_url]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@pytest.mark.parametrize("database_url", ["", "postgresql://nobody@127.0.0.1/none"])
def test_a_worker_loads_before_it_forks_what_slices_need(database_url):
    modules = _found("yes", database_url)["modules"]
    assert {"lumos_queue.endpoints.tgi_info", "lumos_queue.formulations.iterative", "uvloop"} <= set(modules)
    assert ("psycopg" in modules) == bool(database_url)
    assert {"torch", "openai", "numpy"}.isdisjoint(modules)


def test_slices_leave_frozen_what_was_frozen_before_the_fork():
    first, *later = _found("yes", "")["frozen"]
    assert first > 100_000
    assert later == [first, first]


def test_slices_of_a_process_that_froze_nothing_leave_nothing_frozen():
    assert _found("", "")["frozen"] == [0, 0, 0]
