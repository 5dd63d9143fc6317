"""A training job through the queue: killed in the middle and resumed, it gives the weights of one that was not."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

#: A dead process is found soon. The order of the three is what matters.
TIMES = {"LUMOS_HEARTBEAT_SECONDS": "0.3", "LUMOS_FENCE_SECONDS": "2", "LUMOS_LEASE_SECONDS": "3"}
FORMULATIONS = ("iterative", "one-pass")


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
    output, problems = process.communicate(timeout=240)
    assert process.returncode == 0, problems
    return json.loads(output.splitlines()[-1])


def weights(home: Path) -> list[str]:
    exported = [home / "fit" / "export" / name / "model.safetensors" for name in FORMULATIONS]
    return [hashlib.sha256(path.read_bytes()).hexdigest() for path in exported]


def test_a_killed_training_job_goes_on_at_its_last_checkpoint_and_ends_with_the_same_weights(data, tmp_path):
    whole = last_line(train(tmp_path / "whole", data))
    assert whole["state"] == "done"
    assert [window.get("step") for window in whole["windows"]] == [None, 2, 4, 6, 2, None]

    home = tmp_path / "killed"
    process = train(home, data)
    until = time.monotonic() + 200
    while not (home / "fit" / "iterative" / "step-000002").is_dir():
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    job = last_line(lumos(home, "jobs"))["jobs"][0]["job"]
    resumed = last_line(lumos(home, "resume", job))
    assert resumed["state"] == "done"
    assert weights(home) == weights(tmp_path / "whole")
