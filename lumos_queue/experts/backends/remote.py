"""Find experts of `http://HOST:PORT`, which another machine serves, such as a machine with a GPU."""

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

FRESH_SECONDS = 5.0  #: how long a server's description is used: all its experts are looked up within a short time
#: Address → time of the request (time.monotonic()), and the description or the error.
_descriptions: dict[str, tuple[float, Mapping[str, Any] | SpecError]] = {}
_lock = threading.Lock()


def find(expert: str, url: str) -> BackendFacts:
    """Return the facts of an expert that a server provides.

    Raises SpecError for an invalid address, for a server that does not answer, and ('not run: needs …') if the server
    does not serve the expert.
    """
    base = check_url(url)
    with _lock:
        outcome = _descriptions.get(base)
        if outcome is None or time.monotonic() - outcome[0] > FRESH_SECONDS:
            description = _ask(base)
            outcome = _descriptions[base] = (time.monotonic(), description)
    if isinstance(outcome[1], SpecError):
        raise SpecError(str(outcome[1]))
    return read_facts(EXPERTS[expert], base, outcome[1])


def _ask(url: str) -> Mapping[str, Any] | SpecError:
    """Return a server's description, or the error. A separate thread requests it: this thread may run an event loop."""
    with ThreadPoolExecutor(1) as thread:
        try:
            return thread.submit(lambda: asyncio.run(describe_server(url, read_settings()))).result()
        except SpecError as error:
            return error
        except InfrastructureError as error:
            return SpecError(f"Cannot use these experts, {error}: start `lumos serve experts` there.")
