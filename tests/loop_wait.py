"""Waiting for a condition within an event loop, as `tests.services.wait_until` waits in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest


async def loop_until(happens: Callable[[], object], description: str, seconds: float = 30.0) -> None:
    """Return when `happens()` is true; fail the test when that takes too long."""
    try:
        async with asyncio.timeout(seconds):
            while not happens():
                await asyncio.sleep(0.005)
    except TimeoutError:
        pytest.fail(f"waited {seconds:g} s in vain: {description}")
