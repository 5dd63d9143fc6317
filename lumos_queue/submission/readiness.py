"""Wait for a server whose model is still loading when a job is submitted."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from lumos_queue.endpoints.base import Endpoint
from lumos_queue.errors import EndpointNotReady, SpecError
from lumos_queue.util.wording import format_limit

WAIT_SECONDS = 600.0  #: that a server is waited for; large models load for minutes
PAUSE_SECONDS = 2.0  #: between two requests


async def identify_when_ready(endpoint: Endpoint, remark: Callable[[str], None]) -> dict[str, Any]:
    """Wait until an endpoint's server is ready, and return its identity. `remark` gets one line if there is a wait.

    Raises SpecError for an endpoint that cannot be used, and if its server is not ready within WAIT_SECONDS.
    """
    ends_at = time.monotonic() + WAIT_SECONDS
    is_remarked = False
    while True:
        try:
            return await endpoint.identity()
        except EndpointNotReady as error:
            if time.monotonic() + PAUSE_SECONDS > ends_at:
                raise SpecError(
                    f"{error}, after a wait of {format_limit(WAIT_SECONDS)}: submit again when it is ready."
                ) from None
            if not is_remarked:
                remark(f"waits: {error}")
                is_remarked = True
        await asyncio.sleep(PAUSE_SECONDS)
