"""The event loop of a slice: uvloop, and a garbage collector that ignores what existed before (in a worker: its fork).

Collections were 9 to 15 % of a slice's CPU: each full one walks over all that was ever imported, which is never
garbage. docs/performance.md tells what both save.
"""

from __future__ import annotations

import gc
from collections.abc import Coroutine
from typing import Any, TypeVar

import uvloop

T = TypeVar("T")

#: Allocations before a collection of the youngest generation (Python's default: 700), and collections of one
#: generation before one of the next. A slice's garbage is in cycles only where something failed.
THRESHOLDS = (20_000, 20, 50)


def run_on_loop(main: Coroutine[Any, Any, T]) -> T:
    """Run `main` to its end on a new loop; returns or raises what it does."""
    before = gc.get_threshold()
    # What a forked worker shares with its siblings was frozen before the fork, and stays so: looked at, it is copied.
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
