"""Print a list of episodes as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from rich.cells import cell_len, set_cell_size

from lumos_queue.cli import output
from lumos_queue.cli.output import escape
from lumos_queue.reports.episode_list import EpisodeLine

_MAX_WIDTH = 24  #: terminal cells of a column
_EPISODE: tuple[tuple[str, Callable[[EpisodeLine], str]], ...] = (
    ("episode", lambda episode: episode.episode),
    ("benchmark", lambda episode: episode.benchmark),
    ("level", lambda episode: episode.level),
    ("score", lambda episode: "" if episode.score is None else f"{episode.score:g}"),
    ("ending", lambda episode: episode.ending),
    ("answer", lambda episode: episode.answer or ""),
    ("gold", lambda episode: episode.gold or ""),
    ("calls", lambda episode: f"{episode.calls:,}" if episode.calls else ""),
)


def print_episodes(episodes: Sequence[EpisodeLine], one_job: bool) -> None:
    """Print two lines for each episode: its figures and its question. Columns without any content are left out."""
    console = output.console()
    columns = {name: [show(episode) for episode in episodes] for name, show in _EPISODE}
    hidden_columns = {"benchmark"} if one_job else set()
    visible = {name: cells for name, cells in columns.items() if name not in hidden_columns and any(cells)}
    widths = {name: min(_MAX_WIDTH, max(map(cell_len, (name, *cells)))) for name, cells in visible.items()}

    def line(cells: Iterable[str]) -> str:
        texts = (truncate_line(cell, width) for cell, width in zip(cells, widths.values(), strict=True))
        padded_cells = (
            f"{cell}{' ' * (width - cell_len(cell))}" for cell, width in zip(texts, widths.values(), strict=True)
        )
        return escape("  ".join(padded_cells).rstrip())

    console.print(f"[bold]{line(visible)}[/]", soft_wrap=True)
    for episode, cells in zip(episodes, zip(*visible.values(), strict=True), strict=True):
        console.print(line(cells), soft_wrap=True)
        console.print(f"[dim]  {escape(truncate_line(episode.question, console.width - 2))}[/]", soft_wrap=True)


def truncate_line(text: str, width: int) -> str:
    """Return the text as one line of at most `width` terminal cells."""
    text = " ".join(text.split())
    return text if cell_len(text) <= width else f"{set_cell_size(text, width - 1).rstrip()}…"
