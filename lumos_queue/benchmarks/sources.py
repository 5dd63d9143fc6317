"""Sources by name; each is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module

from lumos_queue.benchmarks.source import Source
from lumos_queue.errors import SpecError, unknown

NAMES = (
    "aokvqa", "asdiv", "gsm8k", "hotpotqa", "mawps", "mind2web", "musique", "prm800k", "rewoo", "spider", "strategyqa",
    "svamp", "webshop", "wordmath",
)  # fmt: skip


def open_source(name: str) -> Source:
    """The source of that name, or the one that a module of one's own holds: `mylab.travelplanner`.

    Raises SpecError for an unknown name, listing the names, and for a module that cannot be imported or holds none.
    """
    if name in NAMES:
        return import_module(f"lumos_queue.benchmarks.{name}.source").source
    if "." not in name:
        raise unknown("source", name, (*NAMES, "a module of your own, written with a dot"))
    try:
        module = import_module(name)
    except Exception as error:
        raise SpecError(f"Cannot import the source '{name}': {type(error).__name__}: {error}".split("\n")[0]) from error
    found = getattr(module, "source", None)
    if not isinstance(found, Source):
        raise SpecError(f"The module '{name}' holds no source: let it end in `source = …`, a subclass of Source.")
    return found
