"""Run the event loop of a slice: uvloop, with a garbage collector that ignores objects made before the slice.

Without this, collections took 9 to 15 % of a slice's CPU time: each full collection visits all objects of imported
modules, which are never garbage. docs/performance.md states what uvloop and the collector save.
"""

from __future__ import annotations

import gc
from collections.abc import Coroutine
from typing import TypeVar

import uvloop

T = TypeVar("T")

#: Allocations before a collection of the youngest generation (Python's default: 700), and collections of a generation
#: before a collection of the next. Only failures leave garbage in cycles in a slice.
THRESHOLDS = (20_000, 20, 50)


def run_on_loop(main: Coroutine[object, None, T]) -> T:
    """Run the coroutine `main` on a new event loop; return its value, or raise its error."""
    before = gc.get_threshold()
    # A forked worker shares frozen objects with its siblings. They stay frozen: a collection would copy their pages.
    is_frozen = gc.get_freeze_count() > 0
    if not is_frozen:
        gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    try:
        return uvloop.run(main)
    finally:
        gc.set_threshold(*before)
        if not is_frozen:
            gc.unfreeze()
