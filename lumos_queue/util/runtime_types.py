"""Check types at run time: third-party code and files may have other values than a declaration promises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard


def has_type(value: object, expected_type: type) -> bool:
    """Return whether a value has the type that its declaration promises."""
    return isinstance(value, expected_type)


def is_sequence(value: object) -> TypeGuard[Sequence[Any]]:
    """Return whether a value is a list, a tuple or another sequence, but not a text or bytes."""
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)
