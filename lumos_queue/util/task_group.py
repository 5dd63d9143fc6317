"""Run coroutines concurrently. If one fails, all others are cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


async def run_together(coroutines: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Return the results in order. If a coroutine fails, cancel the others, wait for their end, and raise its error."""
    tasks = [asyncio.ensure_future(coroutine) for coroutine in coroutines]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
