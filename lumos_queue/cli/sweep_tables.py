"""Print a sweep's table as text."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.table import Table

from lumos_queue.cli import output


def print_sweep(sweep: dict[str, Any]) -> None:
    """Print each score: the mean of the seeds with its interval over tasks, and the score of each seed."""
    benchmarks = list(sweep["benchmarks"])
    table = Table(title=sweep["title"], title_justify="left", header_style="bold", box=box.SIMPLE_HEAD)
    table.add_column("trained on")
    table.add_column("tokens of a fit", justify="right")
    for name in benchmarks:
        table.add_column(name, justify="right")
    for row in sweep["rows"]:
        tokens = "–" if row["tokens"] is None else f"{row['tokens']:,}"
        table.add_row(row["label"], tokens, *(_score(row["scores"].get(name)) for name in benchmarks))
    rules = [sweep["benchmarks"][name]["rule"] for name in benchmarks]
    table.add_row("best rule without a model", "", *(_rule(rule) for rule in rules))
    output.console().print(table)
    for line in sweep["remarks"]:
        output.show(line)
    for path in sweep["files"]:
        output.show(path)


def _score(score: dict[str, Any] | None) -> str:
    if score is None:
        return "not run"
    low, high = (f"{100 * bound:.1f}" for bound in score["ci95"])
    seeds = " ".join(f"{100 * share:.1f}" for share in score["by_seed"].values())
    text = f"{100 * score['value']:.1f} % [{low}, {high}]"
    if not score["complete"]:
        text += f"\n{score['judged']} of {score['of']} judged"
    return f"{text}\n{seeds}" if len(score["by_seed"]) > 1 else text


def _rule(rule: dict[str, Any] | None) -> str:
    return f"{100 * rule['value']:.1f} % ({rule['name']})" if rule else "–"
