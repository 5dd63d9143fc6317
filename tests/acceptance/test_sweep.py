"""A sweep from one command: killed and begun again it is the same jobs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.services import CeleryWorker

TIMES = {"LUMOS_HEARTBEAT_SECONDS": "0.3", "LUMOS_FENCE_SECONDS": "2", "LUMOS_LEASE_SECONDS": "3"}
SWEEP = """
title = "Levels of subgoals"
seeds = [0]
formulations = ["integrated"]
rows = 12
order = ["low", "high"]
[annotations.high]
convert = "wordmath"
limit = 20
[annotations.low]
convert = "wordmath"
subgoals = "low"
limit = 20
[annotations.self]
evaluate = "wordmath"
limit = 60
[fit]
from = "scratch"
steps = 2
[[benchmarks]]
name = "wordmath"
limit = 3
max_tokens = 16
"""


def begin(folder: Path, **settings: str) -> subprocess.Popen:
    (folder / "sweep.toml").write_text(SWEEP)
    command = [sys.executable, "-m", "lumos_queue.cli.main", "train", "sweep", str(folder / "sweep.toml")]
    return subprocess.Popen(
        [*command, "--folder", str(folder / "out"), "--json"],
        env={**os.environ, **TIMES, "LUMOS_HOME": str(folder / "home"), **settings},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait(process: subprocess.Popen) -> dict:
    output, problems = process.communicate(timeout=800)
    assert process.returncode == 0, problems
    return json.loads(output.splitlines()[-1])


@pytest.mark.long
def test_a_sweep_goes_on_after_a_kill_and_is_not_done_twice(tmp_path):
    process, until = begin(tmp_path), time.monotonic() + 600
    while not list(tmp_path.glob("out/fits/high-*/fit/step-*")):
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    found = wait(begin(tmp_path))
    assert [(row["label"], row["rows"]) for row in found["rows"]] == [("high", 12), ("low", 12), ("self", 12)]
    for row in found["rows"]:
        (score,) = row["scores"].values()
        assert score["complete"] and score["of"] == 3 and row["tokens"] > 100
    assert found["complete"] and len(found["benchmarks"]["wordmath test, first 3"]["rule"]["name"]) > 3
    assert found == json.loads((tmp_path / "out" / "sweep.json").read_text()) | {"files": found["files"]}
    assert all(Path(path).is_file() for path in found["files"])
    texts = [(tmp_path / "out" / "builds" / name / "solver_integrated.jsonl").read_text() for name in ("high", "low")]
    assert " by subtracting " in texts[0] and " by subtracting " not in texts[1]
    again = begin(tmp_path)
    assert wait(again) == found


@pytest.mark.long
def test_a_sweep_is_carried_out_by_the_workers_of_a_deployment(tmp_path, redis_url, postgres_url):
    servers = {"database_url": postgres_url, "broker_url": redis_url, "home": str(tmp_path / "home")}
    with CeleryWorker(tmp_path, "llm,cpu", **servers):
        found = wait(begin(tmp_path, **{f"LUMOS_{name.upper()}": value for name, value in servers.items()}))
    assert found["complete"] and [row["label"] for row in found["rows"]] == ["high", "low", "self"]
    assert all(score["of"] == 3 for row in found["rows"] for score in row["scores"].values())
