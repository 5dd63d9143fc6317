"""Gold plans of OpenAGI run by experts, as a job: what perfect planning scores here, by category, and in what memory.

python -m experiments.experts.gold [--experts own] [--profile released] [--samples 10] [--memory 800] [--home DIR]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import psutil
import typer

from lumos_queue.benchmarks.openagi.tasks import TASKS

MIB = 1 << 20


def main(
    experts: Annotated[str, typer.Option(help="As --tool experts=…: own, own:PATH, oracle.")] = "own",
    profile: Annotated[str, typer.Option(help="released or strong.")] = "released",
    split: Annotated[str, typer.Option(help="labelled, feedback, heldout or all.")] = "all",
    samples: Annotated[int, typer.Option(min=1)] = 10,
    memory: Annotated[int, typer.Option(help="MiB that all processes of experts together may write to.")] = 4096,
    home: Annotated[Path | None, typer.Option(help="Where the job is kept; else nowhere.")] = None,
) -> None:
    """Print the report, and the most memory that the processes of experts held at one time."""
    with tempfile.TemporaryDirectory() as scratch:
        rules = write_gold_rules(Path(scratch) / "gold.json")
        command = [
            *(sys.executable, "-m", "lumos_queue.cli.main", "evaluate", "openagi", "--formulation", "model-synthesis"),
            *("--split", split, "--planner", f"scripted:{rules}", "--tool", f"experts={experts}"),
            *("--option", f"samples={samples}", "--option", f"profile={profile}"),
        ]
        variables = {"LUMOS_HOME": str(home or scratch), "LUMOS_EXPERT_MEMORY": str(memory * MIB)}
        begin = time.monotonic()
        with subprocess.Popen(command, env=os.environ | variables) as process:
            processes, peak = watch(process)
        seconds = time.monotonic() - begin
    print(f"{processes} processes of experts at most, {peak / MIB:,.0f} of {memory:,} MiB at most; {seconds:,.0f} s")
    raise SystemExit(process.returncode)


def write_gold_rules(path: Path) -> Path:
    """A file of rules for `scripted:` that answers each task with its gold plan."""
    rules = [{"contains": f"Objective: {task.description}\n", "reply": task.plan.write()} for task in TASKS]
    path.write_text(json.dumps(rules))
    return path


def watch(process: subprocess.Popen[bytes], every: float = 0.05) -> tuple[int, int]:
    """Watch the process until it ends; return the peak number of experts' processes and of their own bytes."""
    max_count = peak = 0
    parent = psutil.Process(process.pid)
    while process.poll() is None:
        sizes = []
        for child in list_children(parent):
            try:
                if "lumos_queue.experts.child" in child.cmdline():
                    sizes.append(child.memory_full_info().uss)
            except psutil.Error:
                continue
        max_count, peak = max(max_count, len(sizes)), max(peak, sum(sizes))
        time.sleep(every)
    return max_count, peak


def list_children(parent: psutil.Process) -> list[psutil.Process]:
    try:
        return parent.children(recursive=True)
    except psutil.NoSuchProcess:
        return []


if __name__ == "__main__":
    typer.run(main)
