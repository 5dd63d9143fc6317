"""Print two episodes on one task in two columns, with a mark at their first difference."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.table import Table

from lumos_queue.cli import output
from lumos_queue.cli.output import escape


def print_step_pair(pair: dict[str, Any]) -> None:
    """Print a pair of episodes from `reports.step_pairs.pair_steps`."""
    console, first, second = output.console(), pair["a"], pair["b"]
    gold = f"  gold {escape(first['gold'])}" if first["gold"] is not None else ""
    console.print(f"{first['benchmark']} row {escape(first['row'])}{gold}")
    console.print(escape(first["question"]))
    table = Table(header_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("", width=1)
    for episode in (first, second):
        scores = " ".join(f"{score['metric']} {score['value']:g}" for score in episode["scores"])
        table.add_column(f"{episode['episode']}\n{escape(episode['formulation'])}  {scores}", overflow="fold", ratio=1)
    difference_index = pair["first_difference"]
    for index, step in enumerate(pair["steps"]):
        style = (
            "bold"
            if index == difference_index
            else ""
            if difference_index is None or index < difference_index
            else "dim"
        )
        table.add_row(">" if index == difference_index else "", escape(step["a"]), escape(step["b"]), style=style)
    console.print(table)
    summary = (
        "they did and answered the same" if difference_index is None else f"> they part at step {difference_index + 1}"
    )
    console.print(summary)
