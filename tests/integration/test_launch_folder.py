"""What lies in the folder of the launch is data: nothing in it is run, and relative paths mean what lies there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.prompts.agent import Agent
from lumos_queue.submission.store import read_rows, submit
from tests.services import free_port, wait_until
from tests.stored import stored_rows, wait_for

ROOT = Path(__file__).resolve().parents[2]
#: Ours, the libraries', the standard library's, and the configurations that Celery and Flower run when they find them.
NAMES = (
    "workers", "random", "celery", "lumos_queue", "db", "json", "torch", "sitecustomize", "usercustomize", "flower",
    "celeryconfig", "flowerconfig", "sympy", "secrets", "numpy", "bdb", "code",
)  # fmt: skip
REPLIES = [
    {"contains": "Should we stop planning?", "reply": "Yes, I will stop planning."},
    {"contains": "to be grounded:", "reply": "R1 = Calculator(2 + 3); R2 = Code(answer = R1 * 2)"},
    {"contains": "", "reply": "Subgoal 1: Add."},
]
COMMAND = (sys.executable, "-P", "-m", "lumos_queue.cli.main")
WORKER = ("worker", "-Q", "cpu", "-c", "1", "--without-gossip", "--without-mingle")


@pytest.fixture
def hostile(tmp_path) -> Path:
    """A folder with a module of each name that writes its name into the file `run` when it is run."""
    folder = tmp_path / "downloads"
    folder.mkdir()
    for name in NAMES:
        told = f"import os\nos.write(os.open({str(tmp_path / 'run')!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "
        (folder / f"{name}.py").write_text(f"{told}b'{name}\\n')\n")
    (folder / "replies.json").write_text(json.dumps(REPLIES))
    return folder


def environment(**variables: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), **variables}


def were_run(folder: Path) -> list[str]:
    told = folder.parent / "run"
    return sorted(set(told.read_text().split())) if told.exists() else []


def lumos(folder: Path, *arguments: str, **variables: str) -> dict:
    done = subprocess.run([*COMMAND, *arguments, "--json"], cwd=folder, env=environment(**variables),
                          capture_output=True, text=True, timeout=600)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def relative_job(rows) -> Evaluate:
    """As a job was stored by a program that named a file relatively."""
    agent = Agent(roles={"planner": "scripted:replies.json", "grounder": "scripted:replies.json"}, domain="maths")
    return Evaluate(Infer("wordmath", rows.digest, "dev", "iterative", agent, limit=2))


def test_a_deployment_runs_nothing_of_the_folder_it_is_started_in_and_finds_relative_paths_there(hostile):
    from db.connection import open_database
    from lumos_queue.settings import Settings

    said = hostile.parent / "up.txt"
    variables = environment(FLOWER_PORT=str(free_port()), LUMOS_DATABASE_URL="sqlite:///jobs.db")
    with said.open("wb") as output:
        up = subprocess.Popen([*COMMAND, "up"], cwd=hostile, env=variables, stdout=output, stderr=output)
    try:
        wait_until(lambda: "lumos is up" in said.read_text() or up.poll() is not None, "lumos is up", 60)
        settings = Settings(database_url=f"sqlite:///{hostile / 'jobs.db'}")
        database = open_database(settings.database)
        rows = read_rows(open_benchmark("wordmath"), None, "dev", False)
        identifier, _ = submit(database, settings, relative_job(rows), rows)
        wait_for(database, identifier)
        assert len(stored_rows(database, identifier)) == 2
        database.close()
    finally:
        up.send_signal(signal.SIGTERM)
        up.wait(timeout=30)
    assert were_run(hostile) == []
    assert {one.name for one in (hostile / ".lumos").iterdir()} >= {"logs", "run"}
    assert not any((hostile / ".lumos" / "run" / "empty").iterdir())


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
        worker.wait(timeout=30)
    assert were_run(hostile) == []
    assert not any((hostile / "home" / "run" / "empty").iterdir())


def test_evaluating_and_training_run_nothing_of_the_folder_they_are_started_in(hostile, redis_url):
    asked = ("evaluate", "wordmath", "--split", "dev", "--planner", "scripted:replies.json",
             "--grounder", "scripted:replies.json")  # fmt: skip
    assert lumos(hostile, *asked, "--limit", "2")["finished"] == 2
    assert lumos(hostile, *asked, "--limit", "1", LUMOS_BROKER_URL=redis_url)["job"]
    assert were_run(hostile) == []
    (hostile / "build").mkdir()
    turns = [{"role": "user", "content": "Add 2 and 3."}, {"role": "assistant", "content": "R1 = Calculator(2 + 3)"}]
    (hostile / "build" / "grounder_iterative.jsonl").write_text(json.dumps({"id": "1", "messages": turns}) + "\n")
    trained = lumos(hostile, "train", "sft", "--data", "build", "--from", "starter", "--folder", "fit", "--steps", "1",
                    "--window", "1")  # fmt: skip
    assert trained["state"] == "done" and (hostile / "fit" / "export").is_dir()
    assert were_run(hostile) == []
