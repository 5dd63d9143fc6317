"""A list of episodes for people."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.cells import cell_len, set_cell_size

from lumos_queue.cli import output
from lumos_queue.cli.output import escape

_MAX_WIDTH = 24  #: terminal cells of a column
_EPISODE = (
    ("episode", lambda one: one["episode"]),
    ("benchmark", lambda one: one["benchmark"]),
    ("level", lambda one: one["level"]),
    ("score", lambda one: "" if one["score"] is None else f"{one['score']:g}"),
    ("ending", lambda one: one["ending"]),
    ("answer", lambda one: one["answer"] or ""),
    ("gold", lambda one: one["gold"] or ""),
    ("calls", lambda one: f"{one['calls']:,}" if one["calls"] else ""),
)


def print_episodes(episodes: list[dict[str, Any]], one_job: bool) -> None:
    """Two lines for each episode: its figures, without columns that are empty for all, and its question below."""
    console = output.console()
    columns = {name: [show(one) for one in episodes] for name, show in _EPISODE}
    hidden = {"benchmark"} if one_job else set()
    shown = {name: cells for name, cells in columns.items() if name not in hidden and any(cells)}
    widths = {name: min(_MAX_WIDTH, max(map(cell_len, (name, *cells)))) for name, cells in shown.items()}

    def line(cells: Iterable[str]) -> str:
        fitted = (chop(cell, width) for cell, width in zip(cells, widths.values(), strict=True))
        padded = (
            f"{cell}{' ' * (width - cell_len(cell))}" for cell, width in zip(fitted, widths.values(), strict=True)
        )
        return escape("  ".join(padded).rstrip())

    console.print(f"[bold]{line(shown)}[/]", soft_wrap=True)
    for one, cells in zip(episodes, zip(*shown.values(), strict=True), strict=True):
        console.print(line(cells), soft_wrap=True)
        console.print(f"[dim]  {escape(chop(one['question'], console.width - 2))}[/]", soft_wrap=True)


def chop(text: str, width: int) -> str:
    """The text on one line of at most `width` terminal cells."""
    text = " ".join(text.split())
    return text if cell_len(text) <= width else f"{set_cell_size(text, width - 1).rstrip()}…"
