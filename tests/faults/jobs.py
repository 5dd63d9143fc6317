"""Jobs that disturb each other: a very large job beside a running job, a half-stored job, a removed job."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from db.queries.jobs import get_job
from db.queue.job_changes import cancel, pause, remove
from tests.claims import new_job
from tests.faults.groups import ROOT
from tests.faults.lab import Lab, case
from tests.faults.result import Result

_SUBMIT = """
import sys
from db.engine.connection import open_database
from tests.claims import new_job
print("ready", flush=True)
print(new_job(open_database(sys.argv[1]), tasks=int(sys.argv[2])))
"""


def _submit(deployment, tasks: int) -> subprocess.Popen:
    """Start a process that submits a large job, for which there is no worker; return it when it has begun."""
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            _SUBMIT.replace("tasks=", "pool='gpu', tasks="),
            deployment.settings.database,
            str(tasks),
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout and process.stdout.readline() == "ready\n"
    return process


@case("a job of 10^5 rows submitted beside a running one, SQLite")
def submit_large_job(lab: Lab, episodes: int = 300, tasks: int = 100_000) -> Result:
    """No worker is blocked for so long that it is declared dead."""
    with lab.deployment("sqlite", episodes=episodes) as deployment:
        deployment.start("dispatcher")
        deployment.submit()
        deployment.wait_for_items(20)
        process = _submit(deployment, tasks)
        assert process.stdout
        large = process.stdout.read().strip()
        assert process.wait(120) == 0
        with deployment.database.engine.connect() as connection:
            stored_items = get_job(connection, large).items
        cancel(deployment.database, large)
        remove(deployment.database, large)
        deployment.end_fault()
        deployment.wait_for_jobs()
        dead = deployment.ask("SELECT count(*) FROM worker_session WHERE ended_by LIKE 'session%'")
        result = deployment.result()
        if dead or stored_items != tasks:
            result.problems.append(f"{dead} sessions were declared dead, {stored_items} items of {tasks} were stored")
        return result


@case("killed half-way through a submit, SQLite")
def kill_submit(lab: Lab, episodes: int = 100, tasks: int = 50_000) -> Result:
    """The stored rows are hidden; the next submit removes or completes them."""
    with lab.deployment("sqlite", episodes=episodes) as deployment:
        process = _submit(deployment, tasks)
        deployment.wait(lambda: deployment.ask("SELECT count(*) FROM task") > 5000, "some is stored")
        process.kill()
        process.wait()
        deployment.end_fault()
        half = deployment.ask("SELECT state FROM job")
        job = new_job(deployment.database, tasks=tasks)
        stored_items = deployment.ask("SELECT count(*) FROM item WHERE job = :job", job=job)
        unfinished_jobs = deployment.ask("SELECT count(*) FROM job WHERE state = 'submitting'")
        cancel(deployment.database, job)
        remove(deployment.database, job)
        deployment.start("dispatcher")
        deployment.submit()
        deployment.wait_for_jobs()
        result = deployment.result()
        if (half, stored_items, unfinished_jobs) != ("submitting", tasks, 0):
            result.problems.append(
                f"after the kill {half}; then {stored_items} items of {tasks}, {unfinished_jobs} half jobs left"
            )
        return result


@case("removed right after a pause, PostgreSQL")
def remove_after_pause(lab: Lab, episodes: int = 100) -> Result:
    """The worker lives, and does the next job."""
    with lab.deployment("postgresql", episodes=episodes, latency=0.1) as deployment:
        (group,) = deployment.start("dispatcher")
        for _ in range(3):
            job = deployment.submit()
            deployment.wait_for_items(5)
            pause(deployment.database, job)
            time.sleep(deployment.pick.uniform(0.0, 0.3))
            remove(deployment.database, job)
            deployment.jobs.clear()
        deployment.end_fault()
        deployment.submit()
        deployment.wait_for_jobs()
        result = deployment.result(bound=-1)  # calls of removed jobs are not stored
        if not group.alive:
            result.problems.append("the dispatcher ended")
        return result
