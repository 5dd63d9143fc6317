"""Coroutines that run beside one another, none of which outlives the others' failure."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


async def run_together(coroutines: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """The results in order. When one fails the others are cancelled, and have ended when it raises."""
    tasks = [asyncio.ensure_future(coroutine) for coroutine in coroutines]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
