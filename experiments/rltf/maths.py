"""Feedback on LUMOS episodes: a small maths planner learns from its rollouts' accuracy, beside rejection sampling.

python -m experiments.rltf.maths run FOLDER [--seed 0]    one seed, half an hour on one core; resumable
python -m experiments.rltf.maths show FOLDER FOLDER …     the tables of those that are done

The planner begins as the shipped small model for one-pass, whose weights also ground, and stay as they are. Both ways
of learning see equally many rollouts of the same training problems. Accuracy is of problems held out: new ones of the
training's kinds (`familiar`), and ones of other kinds (`test`). What learns is the policy that is sampled, so that is
compared, too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from experiments.rltf.summary import print_table
from lumos_queue.models.starter import FROM_SCRATCH, starter_url

TASKS, BATCH, RATE = 5120, 128, "0.0004"
SAMPLED = ("--temperature", "1")
#: What is compared, by name: the split, and how it is decoded.
HELD_OUT = {"familiar": ("familiar", ()), "test": ("test", ()), "familiar-sampled": ("familiar", SAMPLED)}
LIMIT = 500
START, MAIN, CHOSEN = "start", "RLTF", "rejection sampling"

app = typer.Typer(rich_markup_mode=None)


@app.command()
def run(folder: Path, seed: Annotated[int, typer.Option(min=0)] = 0) -> None:
    """Train and evaluate the planners of one seed. The same command resumes where the last one ended."""
    start = starter_url("one-pass", FROM_SCRATCH).removeprefix("local:")
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    common = ("--formulation", "one-pass", "--grounder", f"local:{start}", "--max-tokens", "128")
    sampling_options = (*common, "--split", "train", "--limit", str(TASKS), *SAMPLED, "--seed", str(seed))
    rltf_folder, selection_folder = folder / "rltf", folder / "chosen"
    fit = ("--epochs", "1", "--batch", str(BATCH), "--rate", RATE)
    lumos(folder, "train", "rltf", "wordmath", "--from", start, "--folder", str(rltf_folder), *sampling_options, *fit)
    rollouts = lumos(folder, "evaluate", "wordmath", "--planner", f"local:{start}", *sampling_options)
    if not (folder / "home/builds/chosen").exists():
        where = f"job={rollouts['job']} score=1"
        lumos(folder, "dataset", "build", "chosen", "--where", where, "--formulations", "one-pass")
    sft = ("--from", start, "--preset", "scratch", "--formulation", "one-pass", "--module", "planner")
    lumos(
        folder,
        "train",
        "sft",
        "--data",
        "chosen",
        *sft,
        "--folder",
        str(selection_folder),
        "--epochs",
        "2",
        "--batch",
        "32",
        "--seed",
        str(seed),
    )
    for comparison, (split, decoding_options) in HELD_OUT.items():
        evaluation_options = ("--split", split, "--limit", str(LIMIT), *common, *decoding_options)
        models = ((START, start), (MAIN, rltf_folder / "export"), (CHOSEN, selection_folder / "export"))
        jobs = {
            name: lumos(folder, "evaluate", "wordmath", "--planner", f"local:{model}", *evaluation_options)["job"]
            for name, model in models
        }
        (folder / f"{comparison}.json").write_text(json.dumps(jobs, indent=1))


@app.command()
def show(folders: list[Path]) -> None:
    """Print a table of each thing that is compared, of these seeds, a folder each."""
    for comparison in HELD_OUT:
        print(f"\nwordmath, {comparison}")
        print_table(dict(enumerate(folders)), "accuracy", MAIN, f"{comparison}.json")


def lumos(folder: Path, *arguments: str) -> dict:
    """Return the JSON that the command prints. Raises SystemExit if it fails."""
    variables = {"LUMOS_HOME": str(folder / "home"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "lumos_queue.cli.main", *arguments, "--json"]
    process = subprocess.run(command, env=os.environ | variables, stdout=subprocess.PIPE, text=True, check=False)
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments)}: exit code {process.returncode}\n{process.stdout[-2000:]}")
    return json.loads(process.stdout.splitlines()[-1])


if __name__ == "__main__":
    app()
