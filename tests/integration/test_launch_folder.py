"""What lies in the folder of the launch is data: nothing in it is run, and relative paths mean what lies there.

`lumos up` is started in such a folder by test_deployment.py.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hostile_folder import make_hostile_folder, were_run
from tests.services import wait_until

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-P", "-m", "lumos_queue.cli.main")


@pytest.fixture
def hostile(tmp_path) -> Path:
    return make_hostile_folder(tmp_path)


def environment(**variables: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), **variables}


def lumos(folder: Path, *arguments: str, **variables: str) -> dict:
    done = subprocess.run(
        [*COMMAND, *arguments, "--json"],
        cwd=folder,
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_a_worker_started_by_another_runner_of_the_procfile_runs_nothing_of_its_folder(hostile, redis_url):
    log = hostile.parent / "celery.log"
    lines = [line for line in (ROOT / "Procfile").read_text().splitlines() if line.startswith("worker_cpu:")]
    command = [sys.executable, *lines[0].split()[2:]]
    variables = environment(LUMOS_BROKER_URL=redis_url, LUMOS_HOME="home")
    with log.open("wb") as output:
        worker = subprocess.Popen(command, cwd=hostile, env=variables, stdout=output, stderr=output)
    try:
        wait_until(lambda: " ready." in log.read_text() or worker.poll() is not None, "the worker is ready", 60)
        assert worker.poll() is None, log.read_text()
    finally:
        worker.terminate()
        worker.wait(timeout=60)
    assert were_run(hostile) == []
    assert not any((hostile / "home" / "run" / "empty").iterdir())


def test_evaluating_and_training_run_nothing_of_the_folder_they_are_started_in(hostile, redis_url):
    asked = (
        "evaluate",
        "wordmath",
        "--split",
        "dev",
        "--planner",
        "scripted:replies.json",
        "--grounder",
        "scripted:replies.json",
    )
    assert lumos(hostile, *asked, "--limit", "2")["finished"] == 2
    assert lumos(hostile, *asked, "--limit", "1", LUMOS_BROKER_URL=redis_url)["job"]
    assert were_run(hostile) == []
    (hostile / "build").mkdir()
    turns = [{"role": "user", "content": "Add 2 and 3."}, {"role": "assistant", "content": "R1 = Calculator(2 + 3)"}]
    (hostile / "build" / "grounder_iterative.jsonl").write_text(json.dumps({"id": "1", "messages": turns}) + "\n")
    trained = lumos(
        hostile,
        "train",
        "sft",
        "--data",
        "build",
        "--from",
        "starter",
        "--folder",
        "fit",
        "--steps",
        "1",
        "--window",
        "1",
    )
    assert trained["state"] == "done" and (hostile / "fit" / "export").is_dir()
    assert were_run(hostile) == []
