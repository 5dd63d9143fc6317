"""An event loop that hangs for good ends a process of `lumos`, and no program that calls the Python API."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from workers.hang import HUNG

ROOT = Path(__file__).resolve().parents[2]
#: Models: one blocks the event loop until the file 'fixed' is there, the other waits in a thread.
MODEL = """
import os, time

async def blocks(prompt):
    open("begun", "w").close()
    while not os.path.exists("fixed"):
        time.sleep(0.01)
    return "7"

def waits(prompt):
    open("begun", "w").close()
    time.sleep(3600)
"""
PROGRAM = """
import lumos_queue as lq
from blocking import blocks
from db.queue.figures import progress
from lumos_queue.api.connect import open_deployment

def items(job):
    with open_deployment(lq.Settings()) as opened, opened.engine.connect() as connection:
        return {str(state): count for state, count in progress(connection, job.id).items() if count}

def evaluate():
    return lq.evaluate("wordmath", formulation="direct", solver=blocks, limit=8)

job = evaluate()
try:
    job.wait(timeout=120)
except lq.InfrastructureError as error:
    print(error)
print(items(job))
open("fixed", "w").close()
print(evaluate().wait(timeout=120).id == job.id, items(job))
"""
ENDING_PROGRAM = """
import atexit, os, sys, time
import lumos_queue as lq
from blocking import MODEL

atexit.register(print, "the program's own end")
lq.evaluate("wordmath", formulation="direct", solver=MODEL, limit=8)
while not os.path.exists("begun"):
    time.sleep(0.01)
sys.exit(5)
"""


@pytest.fixture
def environment(tmp_path) -> dict[str, str]:
    """Leases so short that a hang is noticed after four seconds."""
    (tmp_path / "blocking.py").write_text(MODEL)
    return os.environ | {
        "LUMOS_HOME": str(tmp_path / "home"),
        "LUMOS_PLUGINS": "blocking",
        "LUMOS_POLL_SECONDS": "0.2",
        "LUMOS_HEARTBEAT_SECONDS": "0.2",
        "LUMOS_FENCE_SECONDS": "0.6",
        "LUMOS_LEASE_SECONDS": "1",
        "LUMOS_DRAIN_SECONDS": "1",
        "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}",
    }


def run(*command: str, folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, timeout=240
    )


def test_a_program_whose_job_hangs_is_told_and_resumes_it(tmp_path, environment):
    done = run("-c", PROGRAM, folder=tmp_path, environment=environment)
    message, pending, resumed = done.stdout.splitlines()[:3]
    assert "is not worked on here any more: the event loop hangs" in message and message.endswith("resume()")
    assert pending == "{'owed': 8}"
    assert resumed == "True {'done': 8}"
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("model", ["blocks", "waits"])
def test_a_program_ends_by_itself_though_its_job_hangs(model, tmp_path, environment):
    patient = environment | {"LUMOS_LEASE_SECONDS": "600"}  # the hang is not noticed before the program ends
    done = run("-c", ENDING_PROGRAM.replace("MODEL", model), folder=tmp_path, environment=patient)
    assert "still at work" in done.stderr and "after the stop request" in done.stderr
    assert "the program's own end" in done.stdout
    assert done.returncode == 5, done.stderr


def test_a_command_whose_job_hangs_ends(tmp_path, environment):
    options = (
        "evaluate",
        "wordmath",
        "--formulation",
        "direct",
        "--limit",
        "8",
        "--solver",
        "function:blocking:blocks",
    )
    done = run("-m", "lumos_queue.cli.main", *options, folder=tmp_path, environment=environment)
    assert "the event loop hangs for" in done.stderr and "this process ends" in done.stderr
    assert done.returncode == HUNG, done.stderr
