"""How often processes open the database: once each, whatever parts of the code use it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import httpx2
import pytest

from db.engine.connection import open_database
from db.engine.migrate import create_tables
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.jobs.convert import Convert
from lumos_queue.settings import Settings
from lumos_queue.submission.store import read_rows, submit
from tests import scripted_models
from tests.fake_endpoint import FakeEndpoint
from tests.integration.test_deployment import ROOT, fetch, running_up
from tests.services import wait_until
from tests.stored_rows import wait_for
from workers.notify import notify_workers

#: Imported by every Python process that starts: notes its calls of `open_database` in a file, with its command line.
HOOK = """
import os
import sys
import db.engine.connection as connection
really = connection.open_database
def open_database(*arguments, **options):
    with open(os.environ["OPENINGS"], "a") as file:
        file.write(f"{os.getpid()} {' '.join(sys.argv)}\\n")
    return really(*arguments, **options)
connection.open_database = open_database
"""
PARTS = ("run_celery.py worker", "run_celery.py flower", "/lumos worker", "/lumos web")


@pytest.fixture
def hook(tmp_path) -> dict[str, str]:
    """The variables with which a process, and its children, note their openings."""
    folder = tmp_path / "hook"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(HOOK)
    return {"PYTHONPATH": f"{folder}{os.pathsep}{ROOT}", "OPENINGS": str(tmp_path / "openings.txt")}


def openings(hook: dict[str, str]) -> dict[str, list[int]]:
    """Return how often each process has opened the database, by its command line."""
    counts: dict[tuple[str, str], int] = defaultdict(int)
    for line in Path(hook["OPENINGS"]).read_text().splitlines():
        process, _, command = line.partition(" ")
        counts[process, command] += 1
    by_command: dict[str, list[int]] = defaultdict(list)
    for (_, command), count in counts.items():
        by_command[command].append(count)
    return by_command


def test_an_evaluation_opens_the_database_once(tmp_path, hook):
    with FakeEndpoint(scripted_models.step_by_step) as endpoint:
        command = ("evaluate", "wordmath", "--planner", endpoint.tgi, "--grounder", endpoint.tgi, "--limit", "2")
        environment = {**os.environ, **hook, "LUMOS_HOME": str(tmp_path / "home")}
        words = [sys.executable, "-P", "-m", "lumos_queue.cli.main", *command]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert list(openings(hook).values()) == [[1]]


def test_each_process_of_a_deployment_opens_the_database_once(tmp_path, hook):
    rows = read_rows(open_benchmark("wordmath"), None, "dev", False)
    with running_up(tmp_path, **hook) as up:
        up.wait_until_up()
        settings = up.settings()
        database = open_database(settings.database)
        for limit in (20, 30):
            job, _ = submit(database, settings, Convert("wordmath", rows.digest, "dev", limit=limit), rows)
            assert notify_workers(settings, "convert", job, limit)
            wait_for(database, job)
        database.close()
        login = re.search(r"login (\S+) / (\S+)", up.said)
        explorer = re.search(r"explorer  (http://127.0.0.1:\d+)/login\?token=(\S+)", up.said)
        assert login and explorer
        name = f"{login[1]}:{login[2]}"
        assert b"lumos_database_up 1.0" in fetch(f"{up.flower}/metrics", name)[1]
        wait_until(lambda: job in fetch(f"{up.flower}/api/tasks", name)[1].decode(), "Flower knows the job")
        messages = json.loads(fetch(f"{up.flower}/api/tasks", name)[1])
        assert all(fetch(f"{up.flower}/task/{message}", name)[0] == 200 for message in messages)
        with httpx2.Client(trust_env=False, follow_redirects=True) as browser:
            browser.get(explorer[0].split()[1])
            for page in (f"jobs/{job}", f"jobs/{job}/report", "workers", "endpoints"):
                assert browser.get(f"{explorer[1]}/{page}").status_code == 200, page
        opened = openings(hook)
    for part in PARTS:
        counts = [count for command, each in opened.items() if part in command for count in each]
        assert counts and set(counts) == {1}, (part, opened)


def test_a_forked_child_is_refused_the_deployment_of_its_parent(tmp_path):
    with Deployment(Settings(home=tmp_path)) as deployment:
        create_tables(deployment.open_at_any_revision())
        child = os.fork()
        if child == 0:
            try:
                deployment.close()  # does nothing: the connections are the parent's
                _ = deployment.database
            except RuntimeError as error:
                os._exit(0 if "has to make its own" in str(error) else 2)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        with deployment.database.engine.connect() as connection:
            assert connection.exec_driver_sql("SELECT 1").scalar() == 1
