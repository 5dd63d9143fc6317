"""Check the ranges of numbers in a program's request. The help of the command line states the same ranges."""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Mapping
from typing import Any

from lumos_queue.errors import SpecError

MAX_INTEGER = 2**31 - 1  #: the largest number that both databases can store
#: Name of an argument to its least and largest number: whole numbers, or any if the least is written as 0.0.
RANGES: Mapping[str, tuple[float, float]] = {
    "limit": (0, MAX_INTEGER),
    "samples": (1, 1000),
    "seed": (0, MAX_INTEGER),
    "temperature": (0.0, math.inf),
    "top_p": (0.0, 1.0),
    "max_tokens": (1, MAX_INTEGER),
    "max_subgoals": (0, 1000),
    "shots": (0, MAX_INTEGER),
    "draw": (0, MAX_INTEGER),
    "sets": (0, 100),
    "priority": (-MAX_INTEGER, MAX_INTEGER),
    "concurrency": (0, MAX_INTEGER),
    "reasks": (0, 10),
    "perturbations": (0, 20),
    "longest": (1, MAX_INTEGER),
    "price_prompt": (0.0, math.inf),
    "price_completion": (0.0, math.inf),
    "budget": (0.0, math.inf),
    "epochs": (0.0, math.inf),
    "steps": (0, MAX_INTEGER),
    "batch": (0, MAX_INTEGER),
    "max_length": (0, MAX_INTEGER),
    "rate": (0.0, 1.0),
    "lora": (0, MAX_INTEGER),
    "window": (0, MAX_INTEGER),
}


def check_ranges(arguments: Mapping[str, Any], may_be_none: Collection[str] = ("shots",)) -> None:
    """Raises SpecError if an argument that is listed in RANGES has another type or is out of its range."""
    for name in arguments.keys() & RANGES.keys():
        value: Any = arguments[name]
        least, largest = RANGES[name]
        if value is None and name in may_be_none:
            continue
        kinds = (int,) if isinstance(least, int) else (int, float)
        if (
            not isinstance(value, kinds)
            or isinstance(value, bool)
            or not least <= value <= min(largest, sys.float_info.max)
        ):
            kind = "whole number" if kinds == (int,) else "number"
            ends = f"from {least:,} to {largest:,}" if math.isfinite(largest) else f"of at least {least:,}"
            raise SpecError(f"{name} is {value!r:.80}: expected a {kind} {ends}.")
