"""Feedback on LUMOS episodes: a small maths planner learns from its rollouts' accuracy, beside rejection sampling.

python -m performance.rltf.maths FOLDER [--seed 0]    one seed, ten minutes on one core; resumable

The planner begins as the shipped small model for one-pass, whose weights also ground, and stay as they are. Both ways
of learning see equally many rollouts of the same training problems. Accuracy is of problems held out: new ones of the
training's kinds (`familiar`), and ones of other kinds (`test`).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from lumos_queue.models.starter import FROM_SCRATCH, starter_url

TASKS, SAMPLES, BATCH, RATE = 512, 2, 32, "0.00005"
HELD_OUT = ("familiar", "test")
LIMIT = 300


def main(folder: Path, seed: Annotated[int, typer.Option(min=0)] = 0) -> None:
    """Prints, for each planner and split, right of all, and the rollouts' mean reward at the first and last step."""
    start = starter_url("one-pass", FROM_SCRATCH).removeprefix("local:")
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    common = ("--formulation", "one-pass", "--grounder", f"local:{start}")
    tasks = ("--split", "train", "--limit", str(TASKS))
    learnt, chosen = folder / "rltf", folder / "chosen"
    sampled = (*common, *tasks, "--temperature", "1", "--samples", str(SAMPLES), "--seed", str(seed))
    fit = ("--epochs", "1", "--batch", str(BATCH), "--rate", RATE, "--max-tokens", "128")
    trained = lumos(folder, "train", "rltf", "wordmath", "--from", start, "--folder", str(learnt), *sampled, *fit)
    rollouts = lumos(folder, "evaluate", "wordmath", "--planner", f"local:{start}", *sampled, "--max-tokens", "128")
    if not (folder / "home/builds/chosen").exists():
        where = f"job={rollouts['job']} score=1"
        lumos(folder, "dataset", "build", "chosen", "--where", where, "--formulations", "one-pass",
              "--select", "newest", "--per-task", "2")  # fmt: skip
    sft = ("--from", start, "--preset", "scratch", "--formulation", "one-pass", "--module", "planner")
    lumos(folder, "train", "sft", "--data", "chosen", *sft, "--folder", str(chosen), "--epochs", "2", "--batch", "32",
          "--seed", str(seed))  # fmt: skip
    steps = trained["feedback_steps"]
    found: dict[str, object] = {"rollouts": sum(one["episodes"] for one in steps), "steps": len(steps)}
    found |= {"reward, first step": steps[0]["reward"], "reward, last step": steps[-1]["reward"]}
    for name, model in (("start", start), ("RLTF", learnt / "export"), ("rejection sampling", chosen / "export")):
        for split in HELD_OUT:
            asked = ("--split", split, "--limit", str(LIMIT), "--planner", f"local:{model}", *common)
            report = lumos(folder, "evaluate", "wordmath", *asked, "--max-tokens", "128")
            found[f"{name}, {split}"] = [report["correct"], report["n"]]
    (folder / "found.json").write_text(json.dumps(found, indent=1))
    print(json.dumps(found, indent=1))


def lumos(folder: Path, *arguments: str) -> dict:
    """What the command prints as JSON. Raises SystemExit when it fails."""
    variables = {"LUMOS_HOME": str(folder / "home"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "lumos_queue.cli.main", *arguments, "--json"]
    done = subprocess.run(command, env=os.environ | variables, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)}: exit code {done.returncode}\n{done.stdout[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    typer.run(main)
