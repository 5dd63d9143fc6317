"""Print builds as text: the manifest of a build, the list of builds, and the differences between two builds."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.table import Table

from lumos_queue.builds import summary
from lumos_queue.cli import output
from lumos_queue.cli.output import escape
from lumos_queue.records import Role
from lumos_queue.util.wording import format_average, format_stored_time, plural


def print_build(manifest: dict[str, Any]) -> None:
    """Print a build's manifest, how many of the episodes that were read are used, and the build's folder."""
    console = output.console()
    recipe = Table.grid(padding=(0, 2))
    recipe.add_column(no_wrap=True, style="bold")
    recipe.add_column(overflow="fold")
    for name, text in summary.properties(manifest):
        recipe.add_row(name, escape(text))
    console.print(f"build [bold]{escape(manifest['name'])}[/]")
    console.print(recipe)
    console.print(_files(manifest))
    _print_episodes(console, manifest)
    for problem in manifest.get("changed", ()):
        console.print(f"[red]{escape(problem)}[/]", soft_wrap=True)
    if manifest["warning"]:
        console.print(f"[yellow]{escape(manifest['warning'])}[/]")
    console.print(f"digest {manifest['digest']}\nin {escape(manifest['folder'])}", soft_wrap=True)


def _files(manifest: dict[str, Any]) -> Table:
    turns = summary.has_turns(manifest)
    table = _table("file", "rows", *(["average turns"] if turns else []))
    for file in manifest["files"]:
        table.add_row(
            escape(file["file"]), f"{file['rows']:,}", *([format_average(file["average_turns"])] if turns else [])
        )
    return table


def _print_episodes(console: Any, manifest: dict[str, Any]) -> None:
    episodes = manifest["episodes"]
    console.print(f"{plural(manifest['rows'], 'row')} from {episodes['used']:,} of {episodes['read']:,} episodes read")
    if repetitions := manifest.get("repeated_rows"):
        console.print(f"{repetitions:,} further rows repeat another row of their file and were left out")
    level_counts = ", ".join(f"{level} {rows:,}" for level, rows in summary.levels(manifest))
    console.print(f"rows by check level: {level_counts}")
    if rejections := summary.rejections(manifest):
        table = _table(f"filters that reject, of {episodes['read']:,} episodes", Role.PLANNER, Role.GROUNDER)
        for name, *counts in rejections:
            table.add_row(escape(name), *(f"{count:,}" if count else "" for count in counts))
        console.print(table)
    if notes := manifest["verdicts"].get("noted"):
        table = _table(f"only noted, of {episodes['read']:,} episodes", "times")
        for name, count in notes.items():
            table.add_row(escape(name), f"{count:,}")
        console.print(table)
    if exclusions := summary.exclusions(manifest):
        table = _table("left out", "episodes")
        for reason, count in exclusions:
            table.add_row(escape(summary.with_flag(reason)), f"{count:,}")
        table.add_section()
        table.add_row("used", f"{episodes['used']:,}")
        table.add_row("read", f"{episodes['read']:,}")
        console.print(table)
    for reason, count in summary.list_unwritten_formulations(manifest):
        console.print(f"{count:,} episodes are used for other formulations only; {escape(reason)}")


def print_list(listing: dict[str, Any]) -> None:
    """Print the list of builds."""
    table = Table(header_style="bold", box=box.SIMPLE_HEAD)
    for name in ("build", "format", "rows", "digest", "made"):
        table.add_column(name, justify="right" if name == "rows" else "left")
    for build in listing["builds"]:
        table.add_row(
            escape(build["build"]),
            escape(str(build["format"])),
            f"{build['rows']:,}",
            build["digest"][:12],
            format_stored_time(build["created_at"]),
        )
    if listing["builds"]:
        output.console().print(table)
    elif not listing["damaged"]:
        output.show("No build exists yet. Make one with: lumos dataset build NAME")


def print_difference(difference: dict[str, Any], kinds: dict[str, str]) -> None:
    """Print the rows that differ. `kinds` maps the title of each kind to its key."""
    console = output.console()
    console.print(f"the same: {plural(difference['same'], 'row')}")
    for title, kind in kinds.items():
        console.print(f"{escape(title)}: {plural(difference['counts'][kind], 'row')}", soft_wrap=True)
        for row in difference[kind]:
            times = f"  × {row['rows']:,}" if row["rows"] > 1 else ""
            console.print(f"  {escape(row['file'])}  {escape(row['id'])}{times}", soft_wrap=True)
        if remaining := difference["counts"][kind] - sum(row["rows"] for row in difference[kind]):
            console.print(f"  and {remaining:,} more (--limit NUMBER shows more)")
    for name, (first, second) in difference["options"].items():
        console.print(f"option {name}: {escape(str(first))} | {escape(str(second))}", soft_wrap=True)


def _table(first: str, *numbers: str) -> Table:
    table = Table(header_style="bold", box=box.SIMPLE_HEAD)
    table.add_column(first, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right")
    return table
