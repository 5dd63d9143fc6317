"""Wait for a result as long as the client waits for its answer."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from typing import TypeVar

from fastapi import Request
from starlette.types import Receive

from lumos_queue.web.errors import ClientGone

T = TypeVar("T")


async def await_result(request: Request, future: Future[T]) -> T:
    """Return the result of work in a thread, or raise its error. Raises ClientGone if the connection is closed first.

    Work that has begun is not stopped, because other clients may wait for it. A future that is not marked as running
    is cancelled.
    """
    result = asyncio.wrap_future(future)
    disconnect = asyncio.ensure_future(wait_for_disconnect(request.receive))
    try:
        await asyncio.wait({result, disconnect}, return_when=asyncio.FIRST_COMPLETED)
        if result.done():
            return result.result()
        raise ClientGone
    finally:
        disconnect.cancel()
        result.cancel()


async def wait_for_disconnect(receive: Receive) -> None:
    """Return when the connection of a request is closed, or its answer is complete."""
    while (await receive())["type"] != "http.disconnect":
        pass
