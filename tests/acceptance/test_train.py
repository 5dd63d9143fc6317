"""Training jobs through the queue: killed in the middle and resumed, they give the weights of one that was not."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from lumos_queue.benchmarks.wordmath.benchmark import benchmark as wordmath
from lumos_queue.benchmarks.wordmath.grammar import generate
from lumos_queue.formulations.registry import FORMULATIONS, starter_names
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.conversations import gold_conversations, write_conversations
from lumos_queue.training.starter.selection import low_level_problems

#: A dead process is found soon. The order of the three is what matters.
TIMES = {"LUMOS_HEARTBEAT_SECONDS": "0.3", "LUMOS_FENCE_SECONDS": "2", "LUMOS_LEASE_SECONDS": "3"}


@pytest.fixture(scope="module")
def data(shared_data, tmp_path_factory) -> Path:
    """The recipe's folders with the first rows of the real files: enough for a fit of a few steps."""
    folder = tmp_path_factory.mktemp("data")
    first_lines(shared_data / "gsm8k" / "train.jsonl", folder / "gsm8k" / "train.jsonl", 150)
    mawps = Path("mawps") / "cv_mawps" / "fold0" / "train.csv"
    first_lines(shared_data / mawps, folder / mawps, 80)
    for name in ("asdiv", "svamp"):
        (folder / name).symlink_to(shared_data / name)
    return folder


def first_lines(source: Path, target: Path, count: int) -> None:
    target.parent.mkdir(parents=True)
    target.write_text("".join(source.read_text(encoding="utf-8").splitlines(keepends=True)[:count]), encoding="utf-8")


def lumos(home: Path, *arguments: str) -> subprocess.Popen:
    environment = {**os.environ, **TIMES, "LUMOS_HOME": str(home)}
    command = [sys.executable, "-m", "lumos_queue.cli.main", *arguments, "--json"]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def train(home: Path, data: Path) -> subprocess.Popen:
    options = ("--steps", "6", "--one-pass-steps", "2", "--window", "2", "--generated", "150")
    return lumos(home, "train", "starter", "--data", str(data), "--folder", str(home / "fit"), *options)


def last_line(process: subprocess.Popen) -> dict:
    output, problems = process.communicate(timeout=800)
    assert process.returncode == 0, problems
    return json.loads(output.splitlines()[-1])


def weights(*folders: Path) -> list[str]:
    return [hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest() for folder in folders]


def killed_after(process: subprocess.Popen, checkpoint: Path) -> None:
    """Kill a training job, its child included, when that checkpoint is there."""
    until = time.monotonic() + 600
    while not checkpoint.is_dir():
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def resumed(home: Path) -> dict:
    job = last_line(lumos(home, "jobs"))["jobs"][0]["job"]
    return last_line(lumos(home, "resume", job))


@pytest.mark.long
def test_a_killed_training_job_goes_on_at_its_last_checkpoint_and_ends_with_the_same_weights(data, tmp_path):
    whole = last_line(train(tmp_path / "whole", data))
    assert whole["state"] == "done"
    assert [window.get("step") for window in whole["windows"]] == [None, 2, 4, 6, 2, None]
    assert [step["step"] for step in whole["training_steps"]] == [1, 2, 3, 4, 5, 6, 1, 2]

    home = tmp_path / "killed"
    killed_after(train(home, data), home / "fit" / "iterative" / "fit" / "step-000002")
    assert resumed(home)["state"] == "done"
    both = [[folder / "fit" / "export" / name for name in starter_names()] for folder in (home, tmp_path / "whole")]
    assert weights(*both[0]) == weights(*both[1])


@pytest.fixture(scope="module")
def build(tmp_path_factory) -> Path:
    """A folder as `lumos dataset build` writes it, from gold solutions in the wording that the starter knows."""
    folder = tmp_path_factory.mktemp("builds") / "gold"
    (folder / "dev").mkdir(parents=True)
    agent = Agent(roles={}, domain="maths")
    problems = low_level_problems(((task, wordmath.gold(task)) for task in generate("train", 80)), Counter())
    pairs = [gold_conversations(*problem, FORMULATIONS.load("iterative"), agent) for problem in problems[:60]]
    for module, rows in zip(("planner", "grounder"), zip(*pairs, strict=True), strict=True):
        write_conversations(rows[:50], folder / f"{module}_iterative.jsonl")
        write_conversations(rows[50:], folder / "dev" / f"{module}_iterative.jsonl")
    return folder


@pytest.mark.long
def test_a_fit_from_a_build_survives_a_kill_and_gives_a_model_that_answers(build, tmp_path):
    def sft(home: Path, *more: str) -> subprocess.Popen:
        options = ("--data", str(build), "--folder", str(home / "fit"), "--steps", "4", "--window", "2", *more)
        return lumos(home, "train", "sft", "--from", "starter", *options)

    whole = last_line(sft(tmp_path / "whole"))
    assert whole["state"] == "done"
    prepared, first, second, exported = whole["windows"]
    assert [step["step"] for step in whole["training_steps"]] == [1, 2, 3, 4]
    assert prepared["counts"]["train: gold/planner_iterative.jsonl"] == 50
    assert [window["step"] for window in (first, second)] == [2, 4]
    assert 0 < second["dev_loss"] < 1

    home = tmp_path / "killed"
    killed_after(sft(home), home / "fit" / "fit" / "step-000002")
    assert resumed(home)["state"] == "done"
    assert weights(home / "fit" / "export") == weights(tmp_path / "whole" / "fit" / "export")

    asked = ("--split", "familiar", "--limit", "12", "--planner", exported["model"], "--grounder", exported["model"])
    scored = last_line(lumos(home, "evaluate", "wordmath", *asked))
    assert scored["correct"] >= 2  # the starter has half of them; a broken export has none

    again = sft(tmp_path / "whole", "--seed", "1")
    _, problems = again.communicate(timeout=300)
    assert again.returncode == 2 and "holds something else already" in problems

    job = whole["job"]
    asked = ("--split", "familiar", "--limit", "12", "--planner", f"run:{job}")
    again = last_line(lumos(tmp_path / "whole", "evaluate", "wordmath", *asked))
    assert again["correct"] == scored["correct"]
    refused = {
        "run:nonesuch": "No job has an id that starts with 'nonesuch'",
        f"run:{again['job']}": "a job of the kind evaluate, not a training job",
    }
    (exported_model,) = (tmp_path / "whole" / "fit" / "export").glob("*.safetensors")
    for url, said in refused.items():
        assert said in problem(lumos(tmp_path / "whole", "evaluate", "wordmath", "--planner", url))
    exported_model.write_bytes(exported_model.read_bytes()[:-1] + b"x")
    assert "are changed: train it again" in problem(
        lumos(tmp_path / "whole", "evaluate", "wordmath", "--planner", f"run:{job}")
    )


def problem(process: subprocess.Popen) -> str:
    _, problems = process.communicate(timeout=60)
    assert process.returncode == 2 and len(problems.splitlines()) == 1, problems
    return problems
