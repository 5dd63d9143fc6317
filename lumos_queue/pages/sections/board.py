"""A table of models and benchmarks, from reports.board."""

from __future__ import annotations

from collections.abc import Iterator

from lumos_queue.pages.blocks import Block, Table, Text
from lumos_queue.reports.board import Board, BoardCell, BoardColumn
from lumos_queue.util.wording import MISSING, format_interval, format_range, format_share, plain

HOW = (
    "A score is the mean over all n items, with its 95 % interval. A cell of several jobs is the mean of all their "
    "items; the items of a task count as one in the interval."
)


def board(table: Board) -> Iterator[Block]:
    """Yield the blocks of a board."""
    rows = [[row.label, *map(_format_cell, row.cells)] for row in table.rows]
    title = f"Scores by {table.by} and benchmark"
    yield Table(title, [table.by, *map(_head, table.columns)], rows, HOW, parallel=True)
    if any(column.note for column in table.columns):
        yield Text("Columns of one benchmark are separate if scores in them have different meanings: see their heads.")
    yield Text("Compare two cells with: lumos compare JOB JOB")
    for job, reason in table.left_out.items():
        yield Text(f"{job} is left out: {reason}")


def _head(column: BoardColumn) -> str:
    name = f"{column.benchmark} ({column.split})" if column.split else column.benchmark
    return "\n".join([name, plain(column.metric), *filter(None, column.note.split(", "))])


def _format_cell(cell: BoardCell | None) -> str:
    if cell is None:
        return MISSING
    if cell.bounds is not None:
        score = f"incomplete: {format_range(*cell.bounds)}"
    else:
        score = f"{format_share(cell.value)} {format_interval(*cell.ci95)}"
    lines = [score, f"n {cell.n:,}, {', '.join(cell.jobs)}"]
    if cell.by_seed and len(cell.by_seed) > 1:
        lines.append("seeds: " + ", ".join(map(format_share, cell.by_seed.values())))
    return "\n".join(lines)
