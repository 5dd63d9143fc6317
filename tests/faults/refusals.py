"""An endpoint that keeps refusing until a person fixes it, under a run in a terminal."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.faults.deployment import CONCURRENCY, Deployment
from tests.faults.groups import PLUGIN, ROOT
from tests.faults.lab import Lab, case
from tests.faults.result import Result

PATIENCE = 6.0  #: seconds after which the run of the case gives up
_COMMAND = f"""
import sys
from lumos_queue.cli import main
from workers import patience
patience.GIVE_UP_SECONDS = {PATIENCE}
sys.exit(main.main())
"""


@case("404 for good, then resumed, embedded")
def refuse_for_good(lab: Lab, episodes: int = 60, status: str = "404") -> Result:
    """The run reports it within seconds, returns its items and exits with 3; a resume finishes the job."""
    with lab.deployment("sqlite", episodes=episodes) as deployment:
        job = deployment.submit(with_notice=False)
        with _run(deployment, job) as run:
            deployment.wait_for_items(episodes // 4)
            deployment.endpoint.control(mode=status)
            strike_time = time.monotonic()
            delay = _until(run, " waits: ") - strike_time
            _, err = run.communicate(timeout=60)
        problems, states = [], _states(deployment)
        if delay > 5:
            problems.append(f"the outage was reported after {delay:.1f} s")
        if run.returncode != 3 or f"lumos resume {job}" not in err:
            problems.append(f"exit code {run.returncode}, and its output: {err[-500:]}")
        failures = deployment.ask("SELECT count(*) FROM episode WHERE ending = 'infra_error'")
        if states.keys() != {"done", "owed"} or failures:
            problems.append(f"items were not given back: {states}, {failures} of them as infra_error")
        deployment.endpoint.control(mode="ok")
        deployment.end_fault()
        with _run(deployment, job) as run:
            _, err = run.communicate(timeout=90)
        if run.returncode != 0:
            problems.append(f"the resumed run exits {run.returncode}: {err[-500:]}")
        # Calls in flight at the outage, and retries until the run gave up.
        result = deployment.result(bound=3 * CONCURRENCY)
        result.problems += problems
        result.notes = f"reported after {delay:.1f} s"
        return result


@contextmanager
def _run(deployment: Deployment, job: str) -> Iterator[subprocess.Popen]:
    """Run the job in a separate process, as in a terminal; kill it at the end of the block."""
    command = [sys.executable, "-c", _COMMAND, "resume", job, "--json"]
    environment = {**deployment.environment, "PYTHONPATH": f"{ROOT}{os.pathsep}{PLUGIN}"}
    with subprocess.Popen(
        command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        try:
            yield run
        finally:
            run.kill()


def _until(run: subprocess.Popen, part: str) -> float:
    """Return the time at which a line with that part was printed (by the monotonic clock)."""
    assert run.stderr
    for line in run.stderr:
        if part in line:
            return time.monotonic()
    raise AssertionError(f"it never printed '{part}'")


def _states(deployment: Deployment) -> dict[str, int]:
    query = "SELECT count(*) FROM item WHERE state = :state"
    states = ("owed", "claimed", "done", "cancelled", "quarantined")
    return {state: count for state in states if (count := deployment.ask(query, state=state))}
