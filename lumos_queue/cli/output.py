"""How commands speak: people read the terminal, programs read one JSON object on the last line of standard output."""

from __future__ import annotations

import sys
from typing import Any

from lumos_queue.util.display import harmless, json_line, one_line

#: Whether this command was called with --json: set once, as the command begins.
as_json = False


def emit(value: dict[str, Any]) -> None:
    """The command's result, for a program."""
    print(json_line(value), flush=True)


def show(text: str) -> None:
    """Plain text for people, as a command's result."""
    print(harmless(text), flush=True)


def say(text: str) -> None:
    """A remark of one line for people: on standard error, so that it never mixes with a result."""
    print(one_line(text), file=sys.stderr, flush=True)


def result(value: dict[str, Any], render) -> None:
    """Show a result: as JSON, or rendered by a function that prints it."""
    if as_json:
        emit(value)
    else:
        render(value)


def fail(problem: str) -> int:
    """Report an error in one line; returns the exit code."""
    line = " ".join(problem.split())
    if as_json:
        emit({"error": line})
    say(f"lumos: {line}")
    return 2


def console(stderr: bool = False):
    """Where tables and bars go."""
    from rich.console import Console
    from rich.segment import Segment

    class Harmless(Console):
        """Every text passes here, however it was put together; what rich itself tells the terminal comes later."""

        def render(self, renderable, options=None):
            for one in super().render(renderable, options):
                yield one if one.control else Segment(harmless(one.text), one.style)

    return Harmless(stderr=stderr, highlight=False)


def escape(text: str) -> str:
    """Text from outside, made harmless where markup is read."""
    from rich.markup import escape

    return escape(harmless(text))
