"""How good experts are on held-out generated data: see docs/experts.md.

python -m experiments.experts [--samples 40] [--profile released] [--url own:PATH …] [--orders] [--out FILE.json]
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from experiments.experts.measure import Row, measure_expert
from experiments.experts.orders import RESTORERS, measure_orders
from lumos_queue.benchmarks.openagi.trials import TRIALS
from lumos_queue.errors import LumosError
from lumos_queue.experts.backends.chat import is_chat
from lumos_queue.experts.backends.registry import resolve
from lumos_queue.experts.host import ExpertHost

console = Console(width=170)


def main(
    samples: Annotated[int, typer.Option(min=2, help="Held-out samples for each expert.")] = 40,
    profile: Annotated[str, typer.Option(help="How strong the augmentations are: released or strong.")] = "released",
    url: Annotated[list[str], typer.Option(help="A backend; may be repeated.")] = ["own:"],  # noqa: B006
    orders: Annotated[bool, typer.Option(help="Also leave out each restoring expert, and try all orders.")] = False,
    out: Annotated[Path | None, typer.Option(help="Write the figures as JSON, too.")] = None,
) -> None:
    """Print a table of experts; those that cannot run here say what they need."""
    figures = asyncio.run(_measure(samples, profile, url, orders))
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(figures, indent=1) + "\n")


async def _measure(samples: int, profile: str, urls: list[str], orders: bool) -> dict[str, object]:
    host = ExpertHost()
    try:
        rows = [
            row for url in urls for expert in TRIALS if (row := await _try_expert(host, expert, url, profile, samples))
        ]
        _show(rows, profile)
        figures: dict[str, object] = {"profile": profile, "experts": [asdict(row) for row in rows]}
        if orders:
            losses, ranking = await measure_orders(host, urls[0], profile, samples)
            for loss in losses:
                console.print(f"without {loss.without}: {loss.decibels:+.3f} ± {loss.half:.3f} dB lost, n {samples}")
            gold = [plan for _, plan in ranking].index(" > ".join(RESTORERS))
            console.print(
                f"gold's order: {gold + 1} of {len(ranking)} ({ranking[gold][0]:.2f} dB; best {ranking[0][0]:.2f} "
                f"{ranking[0][1]}; worst {ranking[-1][0]:.2f})"
            )
            figures |= {"losses": [asdict(loss) for loss in losses], "orders": ranking}
        return figures
    finally:
        await host.close()


async def _try_expert(host: ExpertHost, expert: str, url: str, profile: str, samples: int) -> Row | None:
    if is_chat(url):
        console.print(f"{expert}, {url}: a chat model is measured by a job: lumos evaluate openagi --tool experts=…")
        return None
    try:
        return await measure_expert(host, resolve(expert, url), profile, samples)
    except LumosError as error:
        if "has no" not in str(error):  # a package that is for other experts
            console.print(f"{expert}, {url}: {error}")
        return None


def _show(rows: list[Row], profile: str) -> None:
    table = Table(title=f"profile {profile}; gain with its 95 % interval, sample by sample")
    for column in (
        "expert",
        "backend",
        "measure",
        "nothing / commonest",
        "expert",
        "gain",
        "problems",
        "n",
        "ms",
        "licence",
    ):
        table.add_column(column)
    for row in rows:
        backend = row.note if row.url.startswith("own:") else row.url
        gain = f"{row.gain:+.3f} ± {row.half:.3f}"
        table.add_row(
            row.expert,
            backend,
            row.measure,
            f"{row.nothing:.3f}",
            f"{row.mean:.3f}",
            gain,
            str(row.problems),
            str(row.n),
            f"{row.milliseconds:.0f}",
            row.licence,
        )
    console.print(table)


if __name__ == "__main__":
    typer.run(main)
