"""A job that names a function which a listed module has only imported: no worker calls it."""

from __future__ import annotations

import json
import os

from db.queries.jobs import get_job
from lumos_queue.deployment.database import database
from lumos_queue.settings import Settings
from tests.forked_commands import fork_lumos
from tests.plugin_packages import write_files
from tests.services import free_port, wait_until
from tests.stored_rows import make_tables

MODELS = """
from subprocess import getoutput

def version():
    return getoutput("git describe")

def reply(prompt):
    return "5"
"""


def test_a_worker_refuses_it_in_one_line_which_the_job_shows_and_no_shell_runs(tmp_path):
    make_tables(tmp_path / "home")
    write_files(tmp_path / "own", {"mylab/__init__.py": "", "mylab/models.py": MODELS})
    rows = [{"question": f"What is 2 + 3? $(touch {tmp_path}/ran)", "answer": "2 + 3 = 5 #### 5"}]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    variables = {name: value for name, value in os.environ.items() if not name.startswith("LUMOS_")}
    variables |= {
        "LUMOS_HOME": str(tmp_path / "home"),
        "LUMOS_BROKER_URL": f"redis://127.0.0.1:{free_port()}/0",
        "LUMOS_POLL_SECONDS": "0.3",
    }

    def begin(*arguments, **settings):
        return fork_lumos(*arguments, environment=variables | settings, path=[tmp_path / "own"], folder=tmp_path)

    def submit(function):
        options = ("--data", str(tmp_path / "rows.jsonl"), "--formulation", "direct", "--json")
        process = begin("evaluate", "gsm8k", *options, "--solver", f"function:mylab.models:{function}")
        assert process.wait(60) == 0, process.err
        return json.loads(process.out.splitlines()[-1])["job"]

    imported, defined = submit("getoutput"), submit("reply")
    worker = begin("worker", LUMOS_PLUGINS="mylab.models")
    with database(Settings(home=tmp_path / "home")) as opened:
        try:
            wait_until(lambda: row(opened, imported).waiting or (tmp_path / "ran").exists(), "it is refused", 60)
            wait_until(lambda: row(opened, defined).state == "done", "the other job is done", 60)
        finally:
            worker.terminate()
            worker.wait(30)
    assert not (tmp_path / "ran").exists()
    reason = (
        "The function 'mylab.models:getoutput' is code of 'subprocess', which 'mylab.models' only imports: expected"
    )
    lines = [line for line in worker.err.splitlines() if reason in line]
    assert lines and all(f"job {imported} is refused: " in line for line in lines)
    report = begin("report", imported)
    assert report.wait(60) == 0
    shown = " ".join(report.out.split())
    assert f"{imported} waits: plug-in: {reason} an object that 'mylab.models', its package or" in shown


def row(opened, job):
    with opened.engine.connect() as connection:
        return get_job(connection, job)
