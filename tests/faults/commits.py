"""Faults at hundreds of chosen calls of the database driver, in and around the commit."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from tests.faults.groups import PLUGIN, ROOT
from tests.faults.lab import Lab, case
from tests.faults.result import Result


@case("backend killed in COMMIT, PostgreSQL, 200 times")
def kill_backend(lab: Lab, faults: int = 200) -> Result:
    return _inject(lab, "postgresql", "backend", faults)


@case("SIGQUIT in the commit path, PostgreSQL, 200 times")
def quit_on_postgresql(lab: Lab, faults: int = 200) -> Result:
    return _inject(lab, "postgresql", "quit", faults)


@case("SIGKILL in the commit path, PostgreSQL, 200 times")
def kill_on_postgresql(lab: Lab, faults: int = 200) -> Result:
    return _inject(lab, "postgresql", "kill", faults)


@case("SIGQUIT in the commit path, SQLite, 200 times")
def quit_on_sqlite(lab: Lab, faults: int = 200) -> Result:
    return _inject(lab, "sqlite", "quit", faults)


@case("SIGKILL in the commit path, SQLite, 200 times")
def kill_on_sqlite(lab: Lab, faults: int = 200) -> Result:
    return _inject(lab, "sqlite", "kill", faults)


def _inject(lab: Lab, database: str, how: str, faults: int) -> Result:
    """Inject `faults` faults, and then let a dispatcher finish the job."""
    deployment = lab.deployment(
        database, episodes=5 * faults, latency=0.01, concurrency=4, flush_seconds=0.005, drain_seconds=0.0
    )
    with deployment:
        deployment.submit()
        command = [
            sys.executable,
            "-m",
            "tests.faults.fault_injector",
            "--how",
            how,
            "--faults",
            str(faults),
            "--seed",
            str(lab.seed),
        ]
        with (deployment.folder / "fault_injector.log").open("wb") as log:
            process = subprocess.run(
                command,
                env={**deployment.environment, "PYTHONPATH": f"{ROOT}{os.pathsep}{PLUGIN}"},
                cwd=ROOT,
                stdout=subprocess.PIPE,
                stderr=log,
                timeout=600,
            )
        assert process.returncode == 0, (deployment.folder / "fault_injector.log").read_text()[-2000:]
        counts = json.loads(process.stdout.splitlines()[-1])
        deployment.environment["LUMOS_CONCURRENCY"] = "64"
        deployment.endpoint.control(latency=0.0)
        deployment.start("dispatcher")
        deployment.wait_for_jobs()
        # In flight and waiting for a commit, with four episodes in a process.
        result = deployment.result(bound=faults * 2 * 4)
        result.notes = ", ".join(f"{count} {point}" for point, count in sorted(counts.items()))
        if sum(counts.values()) != faults:
            result.problems.append(f"only {sum(counts.values())} of {faults} faults: too little to do")
        return result
