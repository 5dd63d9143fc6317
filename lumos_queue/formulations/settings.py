"""Parsers for the values of a formulation's settings."""

from __future__ import annotations

from collections.abc import Callable

from lumos_queue.errors import SpecError


def read_number(smallest: int, largest: int) -> Callable[[str, str], int]:
    """Return a parser of whole numbers from `smallest` to `largest`; it raises SpecError for other values."""

    def read(name: str, value: str) -> int:
        if not (value.isascii() and value.isdecimal() and smallest <= int(value[:12]) <= largest):
            raise SpecError(
                f"The setting {name} must be a whole number from {smallest} to {largest}, not '{value[:40]}'."
            )
        return int(value)

    return read


def read_choice(*choices: str) -> Callable[[str, str], str]:
    """Return a parser that accepts only these words, and raises SpecError for others."""

    def read(name: str, value: str) -> str:
        if value not in choices:
            raise SpecError(f"The setting {name} must be one of {', '.join(choices)}, not '{value[:40]}'.")
        return value

    return read


def read_yes_no(name: str, value: str) -> bool:
    """Parse yes and no. Raises SpecError for other values."""
    return read_choice("yes", "no")(name, value) == "yes"
