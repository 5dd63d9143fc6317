"""How often tool agents answer right, with scripted models and faulty tools: see docs/performance.md.

python -m experiments.tool_agents [--questions 300] [--seed 0] [--noise 0.1] [--out build/tool_agents.json]
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from experiments.tool_agents.contests import Disagreement, Row, measure
from lumos_queue.util.version import code_version

console = Console(width=150)


def main(
    questions: Annotated[int, typer.Option(min=1, max=100_000, help="Of each row of the table.")] = 300,
    seed: Annotated[int, typer.Option(help="Of world, questions, faults and errors.")] = 0,
    noise: Annotated[float, typer.Option(min=0, max=1, help="Share of decisions that are errors.")] = 0.1,
    out: Annotated[Path, typer.Option(help="The file for all that was measured.")] = Path("build/tool_agents.json"),
) -> None:
    """Scripted models on generated tools: what is compared is how the formulations lead them."""
    began = time.monotonic()
    rows, disagreements = measure(questions, seed, noise, lambda label: console.print(f"[dim]{label}"))
    console.print(as_table(rows))
    console.print(verdict_table(disagreements))
    console.print(f"{time.monotonic() - began:.0f} s")
    out.parent.mkdir(parents=True, exist_ok=True)
    report = {
        "code_version": code_version(),
        "measured_at": time.time(),
        "questions": questions,
        "seed": seed,
        "noise": noise,
        "rows": [asdict(row) for row in rows],
        "verdicts": [asdict(disagreement) for disagreement in disagreements],
    }
    out.write_text(json.dumps(report, indent=1))
    console.print(f"everything that was measured: {out}")


def as_table(rows: list[Row]) -> Table:
    columns = ("tools", "limits", "method", "verified pass [95 %]", "calls", "most", "actions", "kchar", "endings")
    summary_table = Table(*columns, title="Scripted models: verified pass")
    before = ("", "")
    for row in rows:
        if (row.setting, row.limits) != before:
            summary_table.add_section()
        first = [name if name != old else "" for name, old in zip((row.setting, row.limits), before, strict=True)]
        before = (row.setting, row.limits)
        share = f"{100 * row.passed:.1f} % [{100 * row.low:.1f}, {100 * row.high:.1f}]"
        endings = ", ".join(f"{name} {count}" for name, count in sorted(row.endings.items()))
        figures = (f"{row.calls:.1f}", str(row.most_calls), f"{row.actions:.1f}", f"{row.characters / 1000:.1f}")
        summary_table.add_row(*first, row.method, share, *figures, endings)
    return summary_table


def verdict_table(disagreements: list[Disagreement]) -> Table:
    columns = ("tools", "verdicts", "not the status", "not the body", "misleading bodies", "of them called a failure")
    manager_table = Table(*columns, title="Sum2Act's state manager against the truth, at the paper's limits")
    for disagreement in disagreements:
        shares = (f"{100 * disagreement.status:.1f} %", f"{100 * disagreement.body:.1f} %")
        manager_table.add_row(
            disagreement.setting,
            str(disagreement.n),
            *shares,
            str(disagreement.misled),
            f"{100 * disagreement.misled_failure:.0f} %",
        )
    return manager_table


if __name__ == "__main__":
    typer.run(main)
