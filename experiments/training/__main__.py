"""How many tokens a CPU second trains on, in interleaved pairs: see docs/performance.md.

python -m experiments.training [--pairs 5] [--steps 60] [--out FILE.json]
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from lumos_queue.prompts.conversations import read_conversations
from lumos_queue.training.engine.data import TRAIN, write_examples
from lumos_queue.training.engine.masks import encode
from lumos_queue.training.engine.model import load_tokenizer
from performance.conversations import write_dialogues
from performance.goals import Goal
from performance.statistics import estimate

ROOT = Path(__file__).resolve().parents[2]
#: The goal of each comparison, and the two contenders whose rates are compared.
COMPARISONS = (
    (Goal("former", "this engine with Muon / the loop it replaced", 0.9, at_least=True), "muon", "former"),
    (Goal("trainer", "this engine with AdamW / Trainer at its defaults", 1.0, at_least=True), "adamw", "trainer"),
    (
        Goal("sft-trainer", "this engine with AdamW / SFTTrainer at its defaults", 1.0, at_least=True),
        "adamw",
        "sft-trainer",
    ),
)
console = Console(width=120)


def main(
    pairs: Annotated[int, typer.Option(min=1, help="Adjacent pairs of each comparison.")] = 5,
    steps: Annotated[int, typer.Option(min=6, help="Optimizer steps of each run.")] = 60,
    problems: Annotated[int, typer.Option(min=20, help="Generated problems to train on.")] = 600,
    out: Annotated[Path, typer.Option(help="The file for all that was measured.")] = Path("build/training.json"),
) -> None:
    """Measure the engine beside the loop it replaced and beside the usual trainers; two minutes a pair."""
    rates_by_goal: dict[str, list[dict[str, float]]] = {goal.key: [] for goal, _, _ in COMPARISONS}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_data(folder, problems)
        former = find_former(folder / "former")
        for number in range(pairs):
            for goal, contender, baseline in COMPARISONS:
                if baseline == "former" and former is None:
                    continue
                # Who goes first changes, so that a machine that gets slower favours neither.
                names = (contender, baseline) if number % 2 == 0 else (baseline, contender)
                rates = {label: run(label, folder, steps, former if label == "former" else None) for label in names}
                rates_by_goal[goal.key].append(rates)
                console.print(f"[dim]{goal.key} {number + 1}: " + ", ".join(f"{k} {v:,.0f}" for k, v in rates.items()))
    table = Table("what", "wanted", "median [low, high]", "pairs", "", title="Tokens per CPU second, as ratios")
    for goal, contender, baseline in COMPARISONS:
        ratios = [rates[contender] / rates[baseline] for rates in rates_by_goal[goal.key]]
        interval = estimate(ratios) if ratios else None
        value = (
            f"{interval.median:.2f} [{interval.low:.2f}, {interval.high:.2f}]"
            if interval
            else "no history of this repository"
        )
        table.add_row(goal.text, f"≥ {goal.limit:.1f}", value, str(len(ratios)), goal.verdict(interval))
    console.print(table)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps({"steps": steps, "problems": problems, "rates": rates_by_goal}, indent=1) + "\n")


def make_data(folder: Path, problems: int) -> None:
    """Conversations of generated problems, as a fit gets them, with the small starter's tokenizer."""
    conversations = write_dialogues(folder, problems)
    shutil.copytree(ROOT / "models" / "starter" / "iterative", folder / "tokenizer")
    tokenizer = load_tokenizer(str(folder / "tokenizer"))
    examples = (encode(row, tokenizer, 1024)[0] for row in read_conversations(conversations))
    (folder / "data").mkdir()
    write_examples((example for example in examples if example), folder / "data" / TRAIN)


def find_former(target: Path) -> Path | None:
    """The project as it was before its own loop was deleted, from this repository's history; None: there is none."""
    log = ["git", "log", "--diff-filter=D", "--format=%h", "-1", "--", "lumos_queue/training/fit.py"]
    commit = subprocess.run(log, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    if not commit:
        return None
    target.mkdir()
    archive = ["git", "archive", f"{commit}~1", "lumos_queue"]
    tarball = subprocess.run(archive, cwd=ROOT, capture_output=True, check=False)
    if tarball.returncode:
        return None
    subprocess.run(["tar", "x", "-C", str(target)], input=tarball.stdout, check=True)
    return target


def run(name: str, folder: Path, steps: int, version: Path | None) -> float:
    """The rate of one contender, in a process of its own; `version` is the project that it imports, if not this."""
    paths = [str(version)] if version else []
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([*paths, str(ROOT)]), "OMP_NUM_THREADS": "1"}
    shutil.rmtree(folder / "out", ignore_errors=True)
    command = [sys.executable, "-P", "-m", "experiments.training.contenders", name, str(folder), str(steps)]
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if process.returncode:
        raise SystemExit(f"{name} failed:\n{process.stderr[-2000:]}")
    return float(json.loads(process.stdout)["tokens_per_cpu_second"])


if __name__ == "__main__":
    typer.run(main)
