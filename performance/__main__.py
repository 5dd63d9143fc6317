"""`python -m performance`: measure, compare with the goals, print a table and write JSON."""

from __future__ import annotations

import json
import os
import platform
import signal
import sys
import time
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from lumos_queue.util.version import code_version
from performance.ceiling import ceiling
from performance.collect import FSYNC, Measurements, choose_goals, collect, reason
from performance.goals import Goal
from performance.servers import Unavailable, start_servers
from performance.statistics import Estimate

console = Console(width=170)


def main(
    pairs: Annotated[int, typer.Option(min=1, help="Adjacent pairs of each comparison.")] = 5,
    only: Annotated[str, typer.Option(help="Goals that begin with these words, with commas between.")] = "",
    quick: Annotated[bool, typer.Option(help="One pair of short runs: shows that it works, measures little.")] = False,
    out: Annotated[Path, typer.Option(help="The file for all that was measured.")] = Path("build/performance.json"),
    list_only: Annotated[bool, typer.Option("--list", help="Print the goals and stop.")] = False,
) -> None:
    """Measure what orchestration costs, in ratios to a bare loop and to peers (docs/performance.md)."""
    try:
        goals = choose_goals([word.strip() for word in only.split(",") if word.strip()])
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--only") from None
    if list_only:
        for goal in goals:
            console.print(f"{goal.key:24} {goal.text}", highlight=False)
        return
    began = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # in good order: the servers stop too
    calls_per_second = ceiling()
    with ExitStack() as stack:
        servers, problem = None, ""
        try:
            servers = stack.enter_context(start_servers())
        except Unavailable as why:
            problem = str(why)
        measurements = collect(goals, 1 if quick else pairs, quick, servers, lambda text: console.print(f"[dim]{text}"))
    console.print(table(goals, measurements, problem))
    seconds = time.monotonic() - began
    console.print(
        f"fake server alone: {calls_per_second:,.0f} calls/s; {os.cpu_count()} cores; {seconds / 60:.1f} minutes"
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(as_json(goals, measurements, problem, calls_per_second), indent=1))
    console.print(f"everything that was measured: {out}")


def table(goals: list[Goal], measurements: Measurements, problem: str) -> Table:
    columns = ("goal", "what", "wanted", "median [low, high]", "pairs", "", "to ref with fsync")
    ratio_table = Table(*columns, title="Ratios of adjacent runs")
    for goal in goals:
        estimate = measurements.estimate(goal.key)
        sign = "≥" if goal.at_least else "≤"
        target = f"{sign} {goal.limit:.{goal.digits}f}" if goal.limit is not None else ""
        durable = measurements.estimate(goal.key + FSYNC)
        if estimate:
            value, count = in_words(estimate, goal.digits), str(estimate.count)
        else:
            value, count = reason(goal, measurements) or problem, ""
        verdict = goal.verdict(estimate)
        colour = {"met": "green", "missed": "red"}.get(verdict, "")
        verdict = f"[{colour}]{verdict}" if colour else verdict
        beside = in_words(durable, goal.digits) if durable else ""
        ratio_table.add_row(goal.key, goal.text, target, value, count, verdict, beside)
    return ratio_table


def in_words(estimate: Estimate, digits: int) -> str:
    low, middle, high = (f"{value:.{digits}f}" for value in (estimate.low, estimate.median, estimate.high))
    return f"{middle} [{low}, {high}]"


def as_json(goals: list[Goal], measurements: Measurements, problem: str, calls_per_second: float) -> dict:
    results = [
        {
            **asdict(goal),
            "estimate": asdict(estimate) if estimate else None,
            "verdict": goal.verdict(estimate),
            "reason": "" if estimate else reason(goal, measurements) or problem,
        }
        for goal in goals
        for estimate in [measurements.estimate(goal.key)]
    ]
    machine = {"cores": os.cpu_count(), "python": platform.python_version(), "system": platform.system()}
    return {
        "code_version": code_version(),
        "measured_at": time.time(),
        "machine": machine,
        "ceiling": calls_per_second,
        "goals": results,
        "values": measurements.values,
        "reasons": measurements.reasons,
        "rounds": measurements.rounds,
    }


if __name__ == "__main__":
    typer.run(main)
