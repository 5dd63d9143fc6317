"""Plugin: hide objects that live to the end of the run from the garbage collector.

Collection makes a million objects of modules and tests, torch another half million: a full collection of
all of them takes 0.2 s, in every step of a fit that collects.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Generator

import pytest

MANY = 200  #: number of imported modules from which a collection pays off


class FrozenModules:
    """Remembers how many modules were frozen."""

    def __init__(self) -> None:
        self._count = 0

    def freeze(self) -> None:
        """Freeze all existing objects."""
        gc.freeze()
        self._count = len(sys.modules)

    def freeze_imports(self) -> None:
        """Freeze the modules that a test imported, if they are many."""
        if len(sys.modules) - self._count > MANY:
            gc.collect()
            self.freeze()


FROZEN = FrozenModules()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    gc.disable()
    try:
        return (yield)
    finally:
        FROZEN.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    FROZEN.freeze_imports()
