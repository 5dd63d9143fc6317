"""What a backend needs that may not be there, said in one way."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import metadata, util

from lumos_queue.errors import SpecError


def need_modules(modules: Sequence[str], remedy: str) -> None:
    """Raises SpecError when a module is not installed. Nothing is imported."""
    missing = [name for name in modules if util.find_spec(name) is None]
    if missing:
        raise SpecError(f"not run: needs {', '.join(missing)}: {remedy}")


def versions(*distributions: str) -> list[str]:
    """'name version' of each, as digests and notes hold them."""
    return [f"{name} {metadata.version(name)}" for name in distributions]
