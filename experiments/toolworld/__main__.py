"""The grid of ToolWorld's dials with scripted policies: see docs/toolworld.md.

python -m experiments.toolworld [--tasks 200] [--seed 0] [--noise 0.1] [--cells TEXT] [--out build/toolworld.jsonl]
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from experiments.toolworld.grid import CONTEXT, Cell, Run, all_cells, work
from lumos_queue.errors import SpecError
from lumos_queue.prompts.function_list import HIDDEN, SHOWN

console = Console(width=150)


def main(
    tasks: Annotated[int, typer.Option(min=1, max=500, help="Of each cell.")] = 200,
    seed: Annotated[int, typer.Option(help="Of the policies' errors.")] = 0,
    noise: Annotated[float, typer.Option(min=0, max=1, help="Share of decisions that are errors.")] = 0.1,
    unsolvable: Annotated[float, typer.Option(min=0, max=1, help="Share of parts without an answer.")] = 0.1,
    descriptions: Annotated[bool, typer.Option(help="Show policies the descriptions of tools and arguments.")] = True,
    cells: Annotated[str, typer.Option(help="Only cells whose label has this text, e.g. '6 links'.")] = "",
    out: Annotated[Path, typer.Option(help="A line for each cell; cells that it has are not worked out again.")] = Path(
        "build/toolworld.jsonl"
    ),
) -> None:
    """Scripted policies on generated tools: what is compared is how the formulations lead them."""
    selection = [cell for cell in all_cells() if cells in cell.label]
    if not selection:
        raise typer.BadParameter(f"no cell has '{cells}' in its label, as '{all_cells()[0].label}' has '6 links'")
    began = time.monotonic()
    try:
        run = Run(tasks, seed, noise, unsolvable, SHOWN if descriptions else HIDDEN)
        lines = work(run, selection, out, lambda label: console.print(f"[dim]{label}"))
    except SpecError as error:
        console.print(str(error))
        raise typer.Exit(2) from None
    console.print(as_table(selection, lines))
    console.print(pairs_table(selection, lines))
    console.print(f"{time.monotonic() - began:.0f} s; everything that was measured: {out}")


def as_table(cells: list[Cell], lines: list[dict[str, Any]]) -> Table:
    columns = ("cell", "limits", "method", "verified pass [95 %]", "refusal", "partial", "false", "calls", "longest")
    summary_table = Table(
        *columns, title=f"Scripted policies; with a ratio, prompts have at most {CONTEXT:,} characters"
    )
    for cell, line in zip(cells, lines, strict=True):
        summary_table.add_section()
        for index, row in enumerate(line["rows"]):
            refusal = f"{100 * row['refusal']['share']:.0f} %" if row["refusal"]["n"] else ""
            shares = (f"{100 * row[name]:.0f} %" for name in ("partial", "false_finish"))
            figures = (_interval(row["pass"], "share"), refusal, *shares, f"{row['calls']:.1f}", f"{row['longest']:,}")
            summary_table.add_row(cell.label if not index else "", row["limits"], row["method"], *figures)
    return summary_table


def pairs_table(cells: list[Cell], lines: list[dict[str, Any]]) -> Table:
    difference_table = Table(
        "cell", "limits", "from", "to", "difference of verified pass [95 %]", title="On the same tasks"
    )
    for cell, line in zip(cells, lines, strict=True):
        difference_table.add_section()
        for index, row in enumerate(line["pairs"]):
            first = cell.label if not index else ""
            difference_table.add_row(first, row["limits"], row["from"], row["to"], _interval(row, "difference"))
    return difference_table


def _interval(row: dict[str, Any], name: str) -> str:
    return f"{100 * row[name]:.1f} [{100 * row['low']:.1f}, {100 * row['high']:.1f}] of {row['n']}"


if __name__ == "__main__":
    typer.run(main)
