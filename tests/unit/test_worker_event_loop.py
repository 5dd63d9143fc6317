"""The event loop of a slice, and the garbage collector while it runs."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator

import pytest
import uvloop

from workers.event_loop import THRESHOLDS, run_on_loop


@pytest.fixture(autouse=True)
def same_collector() -> Iterator[None]:
    """Let nothing be frozen when a test begins, and restore the collector after it."""
    was_frozen, thresholds = gc.get_freeze_count() > 0, gc.get_threshold()
    gc.unfreeze()
    yield
    gc.set_threshold(*thresholds)
    gc.unfreeze()
    if was_frozen:
        gc.freeze()


async def look(error: Exception | None = None) -> tuple[bool, bool, tuple[int, int, int]]:
    """Return whether the loop is uvloop's, whether objects are frozen, and the thresholds of the collector."""
    if error:
        raise error
    return isinstance(asyncio.get_running_loop(), uvloop.Loop), gc.get_freeze_count() > 0, gc.get_threshold()


@pytest.mark.parametrize("is_frozen", [False, True])
def test_older_objects_are_frozen_while_the_loop_runs_and_the_collector_is_restored(is_frozen):
    gc.set_threshold(701, 11, 12)
    if is_frozen:
        gc.freeze()
    assert run_on_loop(look()) == (True, True, THRESHOLDS)
    assert gc.get_threshold() == (701, 11, 12) and (gc.get_freeze_count() > 0) is is_frozen


def test_the_collector_is_restored_after_an_error_too():
    thresholds = gc.get_threshold()
    with pytest.raises(ValueError, match="a bug"):
        run_on_loop(look(ValueError("a bug")))
    assert gc.get_threshold() == thresholds and gc.get_freeze_count() == 0
