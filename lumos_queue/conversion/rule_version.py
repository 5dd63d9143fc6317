"""The version of the rules of a conversion, as its stored specification names it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def rule_version_of(spec: Mapping[str, Any]) -> int:
    """Return the version of the source's rules of a stored conversion, or 1 if its specification names none."""
    return spec.get("rule_version", 1)
