"""The output of commands: text for people, or one JSON object on the last line of standard output for programs."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from lumos_queue.util.display import harmless, json_line, one_line

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    from lumos_queue.pages.blocks import Block

#: Whether the command was called with --json. It is set once, when the command starts.
as_json = False
#: the characters that rich reads as markup: a bracket, and backslashes in parts of up to 32
_MARKUP = re.compile(r"\[|\\{1,32}")


def emit(value: dict[str, Any]) -> None:
    """Print the command's result for a program."""
    print(json_line(value), flush=True)


def show(text: str) -> None:
    """Print the command's result as plain text for people."""
    print(harmless(text), flush=True)


def say(text: str) -> None:
    """Print a remark of one line for people on standard error, so that it never mixes with a result.

    If it cannot be written, for example on a full disk, the command continues.
    """
    with suppress(OSError):
        print(one_line(text), file=sys.stderr, flush=True)


def ask(question: str) -> None:
    """Print a question on standard error. The person at the terminal answers on the same line."""
    print(one_line(question), end=" ", file=sys.stderr, flush=True)


def result(value: dict[str, Any], render: Callable[[dict[str, Any]], object]) -> None:
    """Print a command's result: as JSON with --json, else as text by calling `render`."""
    if as_json:
        emit(value)
    else:
        render(value)


def print_page(*blocks: Block) -> None:
    """Print the command's result for people: the blocks of a page (lumos_queue/pages/blocks.py)."""
    from lumos_queue.pages.terminal import print_blocks

    print_blocks(console(), blocks)


def fail(problem: str) -> int:
    """Report an error in one line. Return the exit code 2."""
    line = " ".join(problem.split())
    if as_json:
        emit({"error": line})
    say(f"lumos: {line}")
    return 2


def console(stderr: bool = False) -> Console:
    """Return a console for tables and progress bars. With NO_COLOR, texts have no codes for colours or bold text."""
    from rich.console import Console
    from rich.segment import Segment

    class SafeConsole(Console):
        """A console that sanitizes every text. rich adds its own control codes later."""

        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
            for segment in super().render(renderable, options):
                yield segment if segment.control else Segment(harmless(segment.text), segment.style)

    colours = None if os.environ.get("NO_COLOR") else "auto"
    return SafeConsole(stderr=stderr, highlight=False, emoji=False, color_system=colours)


def escape(text: str) -> str:
    """Return untrusted text, sanitized and escaped for rich's markup.

    rich's own function and its parser of markup take time quadratic in the length of a run of backslashes, and drop a
    backslash before a bracket. The parser reads two backslashes before a tag as one. So this function doubles the
    backslashes of a run and puts an empty tag behind them: text behind the run cannot change its meaning.
    """
    return _MARKUP.sub(_escape_part, harmless(text))


def _escape_part(part: re.Match[str]) -> str:
    return r"\[" if part[0] == "[" else 2 * part[0] + "[none][/none]"
