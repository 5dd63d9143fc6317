"""Builds for people: one build's manifest, the list of builds, and the differences between two."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.table import Table

from lumos_queue.builds import summary
from lumos_queue.cli import output
from lumos_queue.cli.output import escape


def print_build(found: dict[str, Any]) -> None:
    """A build's manifest, what became of the episodes read, and its folder."""
    console = output.console()
    recipe = Table.grid(padding=(0, 2))
    recipe.add_column(no_wrap=True, style="bold")
    recipe.add_column(overflow="fold")
    for name, text in summary.properties(found):
        recipe.add_row(name, escape(text))
    console.print(f"build [bold]{escape(found['name'])}[/]")
    console.print(recipe)
    console.print(_files(found))
    _print_episodes(console, found)
    for problem in found.get("changed", ()):
        console.print(f"[red]{escape(problem)}[/]", soft_wrap=True)
    if found["warning"]:
        console.print(f"[yellow]{escape(found['warning'])}[/]")
    console.print(f"digest {found['digest']}\nin {escape(found['folder'])}", soft_wrap=True)


def _files(found: dict[str, Any]) -> Table:
    turns = summary.has_turns(found)
    table = _table("file", "rows", *(["average turns"] if turns else []))
    for one in found["files"]:
        table.add_row(escape(one["file"]), f"{one['rows']:,}", *([f"{one['average_turns']:.2f}"] if turns else []))
    return table


def _print_episodes(console: Any, found: dict[str, Any]) -> None:
    episodes = found["episodes"]
    console.print(f"{found['rows']:,} rows from {episodes['used']:,} of {episodes['read']:,} episodes read")
    if repeated := found.get("repeated_rows"):
        console.print(f"{repeated:,} further rows repeat another row of their file and were left out")
    checked = ", ".join(f"{level} {rows:,}" for level, rows in summary.levels(found))
    console.print(f"rows by check level: {checked}")
    if rejected := summary.rejections(found):
        table = _table(f"filters that reject, of {episodes['read']:,} episodes", "planner", "grounder")
        for name, *counts in rejected:
            table.add_row(escape(name), *(f"{count:,}" if count else "" for count in counts))
        console.print(table)
    if noted := found["verdicts"].get("noted"):
        table = _table(f"only noted, of {episodes['read']:,} episodes", "times")
        for name, count in noted.items():
            table.add_row(escape(name), f"{count:,}")
        console.print(table)
    if left_out := summary.exclusions(found):
        table = _table("left out", "episodes")
        for why, count in left_out:
            table.add_row(escape(summary.with_flag(why)), f"{count:,}")
        table.add_section()
        table.add_row("used", f"{episodes['used']:,}")
        table.add_row("read", f"{episodes['read']:,}")
        console.print(table)
    for why, count in summary.unwritten_formulations(found):
        console.print(f"{count:,} episodes are used for other formulations only; {escape(why)}")


def print_list(found: dict[str, Any]) -> None:
    """The list of builds."""
    table = Table(header_style="bold", box=box.SIMPLE_HEAD)
    for name in ("build", "format", "rows", "digest", "made"):
        table.add_column(name, justify="right" if name == "rows" else "left")
    for one in found["builds"]:
        table.add_row(
            escape(one["build"]), escape(str(one["format"])), f"{one['rows']:,}", one["digest"][:12], one["created_at"]
        )
    if found["builds"]:
        output.console().print(table)
    elif not found["damaged"]:
        output.show("No build exists yet. Make one with: lumos dataset build NAME")


def print_difference(found: dict[str, Any], kinds: dict[str, str]) -> None:
    """The rows that differ; `kinds` maps the title of each kind to its key."""
    console = output.console()
    console.print(f"the same: {found['same']:,} rows")
    for title, kind in kinds.items():
        console.print(f"{escape(title)}: {found['counts'][kind]:,} rows", soft_wrap=True)
        for row in found[kind]:
            times = f"  × {row['rows']}" if row["rows"] > 1 else ""
            console.print(f"  {escape(row['file'])}  {escape(row['id'])}{times}", soft_wrap=True)
        if more := found["counts"][kind] - sum(row["rows"] for row in found[kind]):
            console.print(f"  and {more:,} more (--limit NUMBER shows more)")
    for name, (one, other) in found["options"].items():
        console.print(f"option {name}: {escape(str(one))} | {escape(str(other))}", soft_wrap=True)


def _table(first: str, *numbers: str) -> Table:
    table = Table(header_style="bold", box=box.SIMPLE_HEAD)
    table.add_column(first, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right")
    return table
