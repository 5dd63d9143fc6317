"""`http://HOST:PORT`: experts that another machine serves, such as one with a GPU (remote_server.py)."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from lumos_queue.errors import InfrastructureError, SpecError
from lumos_queue.experts.backends.base import BackendFacts
from lumos_queue.experts.backends.remote_server import check_url, describe_server, read_facts
from lumos_queue.experts.catalogue import EXPERTS
from lumos_queue.settings import read_settings

FRESH_SECONDS = 5.0  #: for so long what a server has said is believed: all its experts are asked for at a time
#: Address to when it was asked, and what it said, or why it said nothing.
_told: dict[str, tuple[float, Mapping[str, Any] | SpecError]] = {}
_lock = threading.Lock()


def find(expert: str, url: str) -> BackendFacts:
    """Raises SpecError: for a wrong address, a server that does not answer, and 'not run: needs …'."""
    base = check_url(url)
    with _lock:
        known = _told.get(base)
        if known is None or time.monotonic() - known[0] > FRESH_SECONDS:
            said = _ask(base)
            known = _told[base] = (time.monotonic(), said)
    if isinstance(known[1], SpecError):
        raise SpecError(str(known[1]))
    return read_facts(EXPERTS[expert], base, known[1])


def _ask(url: str) -> Mapping[str, Any] | SpecError:
    """Ask in a thread of its own, as this one may run an event loop."""
    with ThreadPoolExecutor(1) as thread:
        try:
            return thread.submit(lambda: asyncio.run(describe_server(url, read_settings()))).result()
        except SpecError as error:
            return error
        except InfrastructureError as error:
            return SpecError(f"Cannot use these experts, {error}: start `lumos serve experts` there.")
