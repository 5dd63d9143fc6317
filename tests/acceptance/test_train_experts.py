"""`lumos train experts` through the queue: killed between two experts it goes on, and gives the same weights."""

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

from lumos_queue.errors import SpecError

#: A dead process is found soon. The order of the three is what matters.
TIMES = {"LUMOS_HEARTBEAT_SECONDS": "0.3", "LUMOS_FENCE_SECONDS": "2", "LUMOS_LEASE_SECONDS": "3"}
FIRST, SECOND = "sentiment-analysis", "question-answering"


def lumos(home: Path, *arguments: str) -> subprocess.Popen:
    environment = {**os.environ, **TIMES, "LUMOS_HOME": str(home)}
    command = [sys.executable, "-m", "lumos_queue.cli.main", *arguments, "--json"]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def train(home: Path, *names: str, seed: int = 0) -> subprocess.Popen:
    only = [part for name in names or (FIRST, SECOND) for part in ("--only", name)]
    steps = ("--steps", "12", "--seed", str(seed))
    return lumos(home, "train", "experts", "--folder", str(home / "experts"), *only, *steps)


def last_line(process: subprocess.Popen) -> dict:
    output, problems = process.communicate(timeout=500)
    assert process.returncode == 0, problems
    return json.loads(output.splitlines()[-1])


def weights(home: Path, *names: str) -> list[str]:
    files = [home / "experts" / name / "model.safetensors" for name in names or (FIRST, SECOND)]
    return [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]


@pytest.mark.long
def test_a_killed_job_goes_on_with_the_next_expert_and_gives_the_same_weights(tmp_path):
    whole = last_line(train(tmp_path / "whole"))
    assert whole["state"] == "done"
    assert [window.get("expert") for window in whole["windows"]] == ["Sentiment Analysis", "Question Answering", None]

    home = tmp_path / "killed"
    process = train(home)
    until = time.monotonic() + 400
    while not list((home / "experts").glob(f".{SECOND}-*")):
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    first = home / "experts" / FIRST / "model.safetensors"
    before = first.stat().st_mtime_ns
    assert not (home / "experts" / SECOND).exists()

    job = last_line(lumos(home, "jobs"))["jobs"][0]["job"]
    assert last_line(lumos(home, "resume", job))["state"] == "done"
    assert sorted(path.name for path in (home / "experts").iterdir()) == [SECOND, FIRST]
    assert first.stat().st_mtime_ns == before, "what was trained is not trained again"
    assert weights(home) == weights(tmp_path / "whole")

    assert last_line(train(tmp_path / "other", FIRST, seed=1))["state"] == "done"
    assert weights(tmp_path / "other", FIRST) != weights(home, FIRST), "the seed decides them"


def test_more_than_12_megabytes_are_refused(tmp_path, monkeypatch):
    from lumos_queue.training.experts import work

    (tmp_path / FIRST).mkdir()
    (tmp_path / FIRST / "model.safetensors").write_bytes(b"0" * 1000)
    assert work.check_size(tmp_path)["bytes"] == 1000
    monkeypatch.setattr(work, "MAX_BYTES", 999)
    with pytest.raises(SpecError, match=r"take 1\.0 kB: at most 999 bytes"):
        work.check_size(tmp_path)
