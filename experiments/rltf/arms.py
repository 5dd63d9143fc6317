"""One seed: every planner that is compared, trained and evaluated by the commands that a person would type."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from lumos_queue.benchmarks.openagi.baselines import plan_by_keywords, plan_of_nearest
from lumos_queue.benchmarks.openagi.tasks import TASKS, TaskSpec
from lumos_queue.experts.plan_constraint import PlanConstraint

DATA = ("--option", "profile=strong", "--option", "samples=4", "--tool", "experts=own:")
DECODED = ("--setting", "schema=fine-tuning", "--setting", "decoding=constrained")
STEPS = 40  #: optimizer steps of each fit from rewards, and of the fit on gold plans that is compared with them
SAMPLED = ("--temperature", "1")
FURTHER = ("--split", "feedback", "--samples", "2", *SAMPLED)
REPEATED = ("--batch", "20", "--samples", "6", "--epochs", "40")
MAIN = "RLTF on 110 further tasks"
#: Fits from rewards, by the name of their arm. All take STEPS steps of about as many rollouts, by the preset `planner`.
FITS = {
    MAIN: FURTHER,
    "RLTF on 110, rewards shuffled": (*FURTHER, "--shuffle-rewards"),
    "RLTF on the 20 tasks of SFT": ("--split", "labelled", *REPEATED, *SAMPLED),
    "RLTF on 110, b = 0": (*FURTHER, "--no-baseline"),
    "RLTF on 110, beams and epsilon": ("--split", "feedback", "--samples", "2"),
}
SFT, MORE, UNTRAINED = "SFT", "SFT, as many steps more", "untrained"


class Seed:
    """The work of one seed, in a folder with a database of its own. What is done already is not done again."""

    def __init__(self, folder: Path, seed: int, reward: str):
        self._folder, self._seed, self._reward = folder.resolve(), seed, reward
        self._folder.mkdir(parents=True, exist_ok=True)
        self._jobs = self._folder / "jobs.json"

    def run(self) -> None:
        """Train and evaluate every arm; the ids of the evaluations are in `jobs.json`."""
        self._rule("keyword rule (gold)", lambda task: plan_by_keywords(task.description).write())
        self._rule("nearest demonstration", lambda task: plan_of_nearest(task.description).write())
        draw = random.Random(f"random plan {self._seed}")
        self._rule("random feasible", lambda task: random_plan(task, draw))
        self._lumos("convert", "openagi", "--deterministic", "--split", "labelled")
        if not (self._folder / "home/builds/plans").exists():
            where = "origin=converted benchmark=openagi"
            self._lumos("dataset", "build", "plans", "--where", where, "--formulations", "model-synthesis")
        sft = self._fit("sft", "scratch", ())
        self._model(UNTRAINED, self._make_untrained(sft))
        self._model(SFT, sft)
        self._model(MORE, self._fit("more", str(sft), ("--steps", str(STEPS))))
        for number, (arm, options) in enumerate(FITS.items()):
            folder = self._folder / f"rltf{number}"
            values = (*options, "--reward", self._reward, "--seed", str(self._seed))
            self._lumos("train", "rltf", "openagi", "--from", str(sft), "--folder", str(folder), *DATA, *values)
            self._model(arm, folder / "export")

    def _rule(self, arm: str, plan: Callable[[TaskSpec], str]) -> None:
        rules = [{"contains": f"Objective: {task.description}\n", "reply": plan(task)} for task in TASKS]
        path = self._folder / f"{arm.partition(' ')[0]}.json"
        path.write_text(json.dumps(rules))
        self._evaluate(arm, "--planner", f"scripted:{path}")

    def _model(self, arm: str, model: Path) -> None:
        self._evaluate(arm, "--planner", f"local:{model}", *DECODED)

    def _evaluate(self, arm: str, *options: str) -> None:
        jobs = json.loads(self._jobs.read_text()) if self._jobs.exists() else {}
        common = ("evaluate", "openagi", "--split", "heldout", "--formulation", "model-synthesis", *DATA)
        jobs[arm] = json.loads(self._lumos(*common, *options).splitlines()[-1])["job"]
        self._jobs.write_text(json.dumps(jobs, indent=1))

    def _fit(self, name: str, start: str, options: tuple[str, ...]) -> Path:
        folder = self._folder / name
        preset = ("--preset", "planner", "--formulation", "model-synthesis", "--precision", "fp32")
        common = ("--data", "plans", "--from", start, "--folder", str(folder), "--seed", str(self._seed))
        self._lumos("train", "sft", *common, *preset, *options)
        return folder / "export"

    def _make_untrained(self, like: Path) -> Path:
        """A model of the same shape with random weights."""
        import torch
        from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

        target = self._folder / "untrained"
        if not target.exists():
            torch.manual_seed(self._seed)
            AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(like)).save_pretrained(target)
            AutoTokenizer.from_pretrained(like).save_pretrained(target)
        return target

    def _lumos(self, *arguments: str) -> str:
        variables = {"LUMOS_HOME": str(self._folder / "home"), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "lumos_queue.cli.main", *arguments, "--json"]
        process = subprocess.run(command, env=os.environ | variables, stdout=subprocess.PIPE, text=True, check=False)
        if process.returncode:
            raise SystemExit(f"{' '.join(arguments)}: exit code {process.returncode}\n{process.stdout[-2000:]}")
        return process.stdout


def random_plan(task: TaskSpec, draw: random.Random) -> str:
    """A feasible plan, each piece of it drawn at random from those that may follow."""
    constraint = PlanConstraint(task.signature)
    state, text = constraint.start(), ""
    while True:
        pieces = list(constraint.pieces(state).items())
        if constraint.may_end(state) and draw.randrange(len(pieces) + 1) == 0:
            return text
        piece, state = draw.choice(pieces)
        text += piece
