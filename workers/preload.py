"""Import modules before a worker forks, so that its children share their memory and start faster.

This saves about 30 MB for each child. Jobs import large modules that only some of them need (torch, the OpenAI SDK).
"""

from __future__ import annotations

import gc
from importlib import import_module

from lumos_queue.domains.registry import DOMAINS
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.settings import Settings

_MODULES = (
    "lumos_queue.jobs.convert",
    "lumos_queue.jobs.evaluate",
    "lumos_queue.endpoints.tgi",
    "lumos_queue.endpoints.tgi_info",
    "lumos_queue.endpoints.openai",
    "uvloop",
)


def preload(settings: Settings) -> None:
    """Import the modules that most slices need, and keep the collector from writing into shared memory."""
    for module in _MODULES:
        import_module(module)
    if settings.database.startswith("postgresql"):
        import_module("psycopg")
    for registry in (FORMULATIONS, DOMAINS):
        for name in registry:
            registry.load(name)
    # A full collection in a child would mark each object, and so copy its page.
    gc.collect()
    gc.freeze()
