"""Domain names to action interfaces; a domain's modules are imported when it is opened."""

from __future__ import annotations

from importlib import import_module

from lumos_queue.actions.base import ActionInterface
from lumos_queue.errors import unknown

_INTERFACES = {"maths": ("lumos_queue.actions.maths.interface", "MathsActions")}


def open_interface(domain: str) -> ActionInterface:
    """The actions of a domain; whoever opens it closes it. Raises SpecError for a domain without actions."""
    if domain not in _INTERFACES:
        raise unknown("domain with actions", domain, _INTERFACES)
    module, name = _INTERFACES[domain]
    return getattr(import_module(module), name)()
