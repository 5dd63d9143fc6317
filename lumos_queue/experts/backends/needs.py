"""Checks that the modules of a backend are installed."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import metadata, util

from lumos_queue.errors import SpecError


def need_modules(modules: Sequence[str], remedy: str) -> None:
    """Raises SpecError, which ends with `remedy`, if a module is not installed. Nothing is imported."""
    missing_modules = [name for name in modules if util.find_spec(name) is None]
    if missing_modules:
        raise SpecError(f"not run: needs {', '.join(missing_modules)}: {remedy}")


def versions(*distributions: str) -> list[str]:
    """Return 'name version' of each distribution, for digests and notes."""
    return [f"{name} {metadata.version(name)}" for name in distributions]
