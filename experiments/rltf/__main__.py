"""What a planner learns from feedback: ten planners over several seeds, on OpenAGI's held-out tasks.

python -m experiments.rltf run FOLDER [--seed 0] [--reward proxies]    one seed, half an hour on one core; resumable
python -m experiments.rltf show FOLDER FOLDER … [--metric proxies]     the table of those that are done
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.rltf.arms import MAIN, Seed
from experiments.rltf.summary import print_table

app = typer.Typer(rich_markup_mode=None)


@app.command()
def run(
    folder: Path,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    reward: Annotated[str, typer.Option(help="As of lumos train rltf.")] = "proxies",
) -> None:
    """Train and evaluate every planner of one seed. The same command resumes where the last one ended."""
    Seed(folder, seed, reward).run()


@app.command()
def show(
    folders: list[Path],
    metric: Annotated[str, typer.Option(help="proxies, or the name of a metric.")] = "proxies",
) -> None:
    """Print the table of these seeds, a folder each."""
    print_table(dict(enumerate(folders)), metric, MAIN)


if __name__ == "__main__":
    app()
