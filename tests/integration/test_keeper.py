"""The servers of a run, and what its tests started, end with it: at its end, after Ctrl-C, and when it is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.services import wait_until

ROOT = Path(__file__).resolve().parents[2]
#: Writes which processes belong to the run, and waits for a file.
TEST = """
import json, os, subprocess, time
from pathlib import Path

import psutil, psycopg, redis

def test_servers_and_a_process(redis_server, request):
    redis_pid = redis.Redis(port=redis_server.port).info()["process_id"]
    folders = [os.environ["LQ_TEST_RUN"]]
    pids = {
        "worker": os.getpid(),
        "redis": redis_pid,
        "keeper": psutil.Process(redis_pid).ppid(),
        "process of a test": subprocess.Popen(["sleep", "600"]).pid,
    }
    if os.environ["WITH_POSTGRESQL"]:
        with psycopg.connect(request.getfixturevalue("postgres_server").uri) as connection:
            [lines] = connection.execute("SELECT pg_read_file('postmaster.pid')").fetchone()
        pids["postgres"] = int(lines.split()[0])
        folders.append(lines.split()[1])
    folder = Path(os.environ["STARTED"])
    (folder / "new").write_text(json.dumps({"folders": folders, "pids": pids}))
    (folder / "new").rename(folder / "started.json")
    while not (folder / "end").exists():
        time.sleep(0.05)
"""


@pytest.mark.parametrize("end", ["last test", "SIGINT", "SIGKILL"])
def test_nothing_of_a_run_is_left(tmp_path, end):
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["tests.suite.servers"]')
    (tmp_path / "test_nested.py").write_text(TEST)
    environment = {**os.environ, "STARTED": str(tmp_path), "PYTHONPATH": str(ROOT)}
    environment["WITH_POSTGRESQL"] = "yes" if end == "SIGKILL" else ""  # it takes seconds to start
    command = [sys.executable, "-m", "pytest", "-n", "1", "-p", "no:cacheprovider", f"--rootdir={tmp_path}", "."]
    with (tmp_path / "output").open("wb") as output:
        run = subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=output, stderr=output, start_new_session=True
        )
    try:
        wait_until(lambda: (tmp_path / "started.json").exists() or run.poll() is not None, "the nested test runs", 120)
        assert run.poll() is None, (tmp_path / "output").read_text()
        started = json.loads((tmp_path / "started.json").read_text())
        processes = {name: psutil.Process(pid) for name, pid in started["pids"].items()}
        if end == "last test":
            (tmp_path / "end").touch()
        elif end == "SIGINT":
            os.killpg(run.pid, signal.SIGINT)  # as a terminal does
        else:
            run.kill()
        run.wait(60)
    finally:
        run.kill()
        run.wait()
    for name, process in processes.items():
        wait_until(lambda process=process: not is_running(process), f"{name} has ended", 60)
    for folder in map(Path, started["folders"]):
        wait_until(lambda folder=folder: not folder.exists(), f"{folder} is removed", 60)
    if end == "last test":
        assert "sleep 600" in (tmp_path / "output").read_text()  # the summary names what a test left running


def is_running(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
