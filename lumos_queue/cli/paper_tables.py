"""The papers' tables for people: a line for each figure, with details below it.

No text is cut, however narrow the terminal is: names are wrapped, and a status too long for its line is printed below.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from lumos_queue.cli import output
from lumos_queue.papers.comparison import LUMOS_KEYS, TOOL_KEYS
from lumos_queue.papers.visual_rows import VISUAL
from lumos_queue.util.display import harmless

HEAD = ("row", "", "published", "ours", "n")
_RIGHT = (False, False, True, True, True)
LUMOS_LEGEND = "* trained on that benchmark's training set; ≈ read off a chart; [P1] arXiv v1, [P3] v3, else ACL"
TOOL_LEGEND = (
    "tool agents: [T] ToolBench, [S] StableToolBench, else Sum2Act; SUBSET is the column; per pass: all runs of the "
    "subset, divided by those that passed"
)
VISUAL_LEGEND = "sum2act-visual: per cent of a case's tasks that are solved; n: tasks; the paper shows them, unscored"
PLANNER_LEGEND = (
    "OpenAGI: figures from 0 to 1; overall: the unweighted mean of the three metrics; n: tasks; the paper tests on a "
    "tenth of the tasks, whose numbers were not published: comparable here is split heldout"
)
GAP, INDENT = "  ", 4
MIN_NAME_WIDTH = 16  #: terminal cells of a row's name


def print_tables(tables: list[dict[str, Any]]) -> None:
    """Print each table; a name, status or tool set that a row shares with the row above is printed once."""
    console = output.console()
    for table in tables:
        _print_table(console, f"Table {table['table']}: {table['title']}", table["rows"])
    keys = {table["table"] for table in tables}
    legends = [TOOL_LEGEND] if keys & {*TOOL_KEYS} - {VISUAL} else []
    legends += [VISUAL_LEGEND] if VISUAL in keys else []
    legends += [PLANNER_LEGEND] if keys - {*LUMOS_KEYS, *TOOL_KEYS} else []
    legends += [LUMOS_LEGEND] if keys & set(LUMOS_KEYS) else []
    for legend in legends:
        _print_wrapped(console, legend, 0, "dim")


def _print_table(console: Console, title: str, rows: list[dict[str, Any]]) -> None:
    lines = [_format_line(row) for row in rows]
    columns = [column for column in range(len(HEAD)) if any(line[column] for line in lines)]
    widths = {column: max(cell_len(line[column]) for line in [HEAD, *lines]) for column in columns}
    other_width = sum(width + len(GAP) for column, width in widths.items() if column)
    widths[0] = min(widths[0], max(console.width - other_width, MIN_NAME_WIDTH))
    _print_wrapped(console, title, 0, "italic")
    _print_figures(console, widths, [HEAD], "bold", "status")
    _print_wrapped(
        console, "─" * min(console.width, sum(widths.values()) + len(GAP) * len(widths) + len("status")), 0, ""
    )
    former_name = ""
    several = len(rows) > 1
    for (name, status, details), group in groupby(
        rows, key=lambda row: (row["row"], _format_status(row, several), _format_details(row))
    ):
        group_rows = list(group)
        group_lines = [
            ("" if index or name == former_name else line[0], *line[1:])
            for index, line in enumerate(map(_format_line, group_rows))
        ]
        _print_figures(console, widths, group_lines, "" if "ours" in group_rows[0] else "dim", status)
        for detail in details:
            _print_wrapped(console, detail, INDENT, "")
        former_name = name
    console.print()


def _print_figures(
    console: Console, widths: dict[int, int], lines: list[tuple[str, ...]], style: str, status: str
) -> None:
    """Print lines that share a status, and the status: at the end of the first line if it fits, else below the last."""
    total_width = sum(width + len(GAP) for width in widths.values())
    has_room = total_width + cell_len(status) <= console.width
    for number, line in enumerate(lines):
        name = _wrap(console, line[0], widths[0])
        for index, part in enumerate(name):
            cells = [_cell(part, widths[0], False)]
            cells += [
                _cell("" if index else line[column], widths[column], _RIGHT[column]) for column in widths if column
            ]
            text = GAP.join(cells) + (GAP + status if has_room and not number and not index else "")
            console.print(Text(text.rstrip(), style=style), soft_wrap=True)
    if not has_room:
        _print_wrapped(console, status, INDENT, style)


def _cell(text: str, width: int, right: bool) -> str:
    padding = " " * (width - cell_len(text))
    return padding + text if right else text + padding


def _print_wrapped(console: Console, text: str, indent: int, style: str) -> None:
    for part in _wrap(console, text, max(console.width - indent, MIN_NAME_WIDTH)):
        console.print(Text(" " * indent + part, style=style), soft_wrap=True)


def _wrap(console: Console, text: str, width: int) -> list[str]:
    """Return lines of at most `width` cells. A word is broken only if it is longer than a line."""
    return [line.plain.rstrip() for line in Text(text).wrap(console, width, overflow="fold")] or [""]


def _format_line(row: dict[str, Any]) -> tuple[str, ...]:
    figure = row.get("ours", {})
    source = row.get("source", "[P]")
    published_text = f"{row['published']}{'' if source == '[P]' else f' {source}'}"
    return tuple(
        map(harmless, (row["row"], row["column"], published_text, _format_value(figure), str(figure.get("n", ""))))
    )


def _format_value(figure: dict[str, Any]) -> str:
    if "ci95" in figure:
        low, high = figure["ci95"]
        digits = figure.get("digits", 1)
        return f"{figure['value']:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"
    if "plan" in figure:
        return f"{figure['plan']:,} / {figure['ground']:,}"
    return str(figure.get("value", ""))


def _format_details(row: dict[str, Any]) -> tuple[str, ...]:
    """Return the lines below a figure."""
    tools, figure = _format_tools(row), row.get("ours", {})
    lines = [f"tools: {tools}" if tools else "", f"counted by rule={figure['rule']}" if "rule" in figure else ""]
    return (*filter(None, lines), *([_format_usage(figure["spent"])] if "spent" in figure else []))


def _format_usage(usage: dict[str, Any]) -> str:
    """Return the calls and tokens of all runs, divided by the number of runs that passed."""
    names = ("model_calls", "tokens", "tool_calls")
    if not usage["passed"]:
        totals = ", ".join(f"{usage[name]:,} {name.replace('_', ' ')}" for name in names)
        return f"per pass: none passed, for {totals}"
    averages = ", ".join(f"{usage[name] / usage['passed']:,.1f} {name.replace('_', ' ')}" for name in names)
    return f"per pass: {averages} ({usage['passed']:g} passed)"


def _format_tools(row: dict[str, Any]) -> str:
    """Return the tool set with the names of files; their folders and digests are in the JSON."""
    parts = [
        f"{name} {value.rpartition('/')[2]}"
        for name, value in row.get("ours", {}).get("tools", {}).items()
        if not name.endswith("_sha256")
    ]
    return harmless(", ".join(parts))


def _format_status(row: dict[str, Any], several: bool) -> str:
    """Return the status of a row. With `several` rows, SUBSET replaces the subset's name, so that statuses agree."""
    figure, status = row.get("ours", {}), row["status"]
    if several and "split" in row:
        status = status.replace(f"--split {row['split']} ", "--split SUBSET ")
    if "job" not in figure:
        return harmless(status)
    jobs = [figure["job"], *(f"{name} {figure[name]}" for name in ("runs", "against") if name in figure)]
    return harmless(f"{status} ({', '.join(jobs)})")
