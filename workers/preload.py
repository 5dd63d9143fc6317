"""What is imported before a worker forks: its children share that memory, and none of them spends time on it.

About 30 MB a child. What only some jobs need, and what is large (torch, the OpenAI SDK), is left to them.
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
    "bm25s",  # for questions and shops
    "uvloop",
)


def preload(settings: Settings) -> None:
    """Import what most slices need, and keep the collector from writing into memory that is to be shared."""
    for module in _MODULES:
        import_module(module)
    if settings.database.startswith("postgresql"):
        import_module("psycopg")
    for registry in (FORMULATIONS, DOMAINS):
        for name in registry:
            registry.load(name)
    # A full collection marks each object that it looks at, and with that copies its page in each child.
    gc.collect()
    gc.freeze()
