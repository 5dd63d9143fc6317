"""Ten kills at random instants of a job that trains: the weights and the curve are those of one that was left alone."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lumos_queue.prompts.conversations import write_conversations
from tests.tiny_fits import conversation
from tests.tiny_llama import make_tiny_llama

KILLS = 10
#: A dead process is found soon. The order of the three is what matters.
TIMES = {"LUMOS_HEARTBEAT_SECONDS": "0.3", "LUMOS_FENCE_SECONDS": "2", "LUMOS_LEASE_SECONDS": "3"}
CASES = {
    "all weights": ("--preset", "paper", "--rate", "0.001"),
    "adapters": ("--preset", "lora", "--rate", "0.01"),  # with dropout
}


def lumos(home: Path, *arguments: str) -> subprocess.Popen:
    environment = {**os.environ, **TIMES, "LUMOS_HOME": str(home)}
    command = [sys.executable, "-m", "lumos_queue.cli.main", *arguments, "--json"]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def last_line(process: subprocess.Popen) -> dict:
    output, problems = process.communicate(timeout=800)
    assert process.returncode == 0, problems
    return json.loads(output.splitlines()[-1])


def curve(report: dict) -> list[tuple]:
    return [
        (row["step"], row["loss"], row["rate"], row["grad_norm"], row["tokens"]) for row in report["training_steps"]
    ]


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_ten_kills_change_neither_the_weights_nor_the_curve(case, tmp_path):
    make_tiny_llama(tmp_path / "base")
    (tmp_path / "build" / "dev").mkdir(parents=True)
    write_conversations(map(conversation, range(40)), tmp_path / "build" / "planner_iterative.jsonl")
    write_conversations(map(conversation, range(40, 50)), tmp_path / "build" / "dev" / "planner_iterative.jsonl")

    def train(home: Path) -> subprocess.Popen:
        # Three optimizer steps an epoch, of two forward passes each; 24 steps in windows of four.
        return lumos(
            home,
            "train",
            "sft",
            "--data",
            str(tmp_path / "build"),
            "--from",
            str(tmp_path / "base"),
            "--folder",
            str(home / "fit"),
            "--batch",
            "16",
            "--epochs",
            "8",
            "--window",
            "4",
            "--gradient-checkpointing",
            *CASES[case],
        )

    whole = last_line(train(tmp_path / "whole"))
    assert whole["state"] == "done" and len(whole["training_steps"]) == 24

    home, source = tmp_path / "killed", random.Random(len(case))
    process = train(home)
    job, kills = "", 0
    while not (home / "fit" / "sft.json").exists():  # the job is stored, and its first item begun
        assert process.poll() is None
        time.sleep(0.05)
    while kills < KILLS:
        time.sleep(source.uniform(5.0, 16.0))
        if process.poll() is not None:
            break
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        kills += 1
        job = job or last_line(lumos(home, "jobs"))["jobs"][0]["job"]
        process = lumos(home, "resume", job)
    ended = last_line(process)
    assert ended["state"] == "done" and kills == KILLS
    assert curve(ended) == curve(whole)
    (name,) = {path.name for path in (home / "fit" / "export").glob("*.safetensors")}
    both = [(folder / "fit" / "export" / name).read_bytes() for folder in (home, tmp_path / "whole")]
    assert both[0] == both[1]
