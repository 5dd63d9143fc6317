"""Formulations by name."""

from __future__ import annotations

from collections.abc import Callable

from lumos_queue.errors import unknown
from lumos_queue.formulations.iterative import iterative
from lumos_queue.formulations.one_pass import one_pass

FORMULATIONS = {"iterative": iterative, "one-pass": one_pass}


def formulation(name: str) -> Callable:
    """The generator function called `name`. Raises SpecError listing the choices."""
    if name not in FORMULATIONS:
        raise unknown("formulation", name, FORMULATIONS)
    return FORMULATIONS[name]
