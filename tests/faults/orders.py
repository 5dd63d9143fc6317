"""Commands for a running job: cancel, pause, resume."""

from __future__ import annotations

import time

from tests.faults.deployment import Deployment
from tests.faults.lab import Lab, case
from tests.faults.result import Result

OBEYED_WITHIN = 5.0  #: seconds after which no new call may arrive at the endpoint


@case("cancelled in mid-job, PostgreSQL and Redis")
def cancel_job(lab: Lab, episodes: int = 400, database: str = "postgresql", broker: str = "redis") -> Result:
    with lab.deployment(database, broker, episodes=episodes, latency=0.3) as deployment:
        deployment.start("celery" if broker else "dispatcher", "dispatcher")
        job = deployment.submit()
        deployment.wait_for_items(20)
        command_time = deployment.command("cancel", job)
        deployment.wait_for_jobs(state="cancelled", seconds=30)
        deployment.expected = "cancelled"
        time.sleep(OBEYED_WITHIN)
        # Replies to calls in flight at the cancellation are lost.
        return _check_obedience(deployment, command_time, deployment.result(bound=deployment.estimate_wasted(2)))


@case("cancelled in mid-job, SQLite")
def cancel_job_on_sqlite(lab: Lab) -> Result:
    return cancel_job(lab, database="sqlite", broker="")


@case("paused and resumed, PostgreSQL and Redis")
def pause_job(
    lab: Lab,
    episodes: int = 300,
    database: str = "postgresql",
    broker: str = "redis",
    seconds: float = 2 * OBEYED_WITHIN,
) -> Result:
    with lab.deployment(database, broker, episodes=episodes, latency=0.3) as deployment:
        deployment.start("celery" if broker else "dispatcher", "dispatcher")
        job = deployment.submit()
        deployment.wait_for_items(20)
        command_time = deployment.command("pause", job)
        time.sleep(seconds)
        resume_time = time.time()
        assert deployment.ask("SELECT state FROM job") == "paused"
        deployment.command("resume", job)
        deployment.faults.append(resume_time)
        deployment.wait_for_jobs()
        result = deployment.result(bound=deployment.estimate_wasted(2))
        return _check_obedience(deployment, command_time, result, until=resume_time)


def _check_obedience(
    deployment: Deployment, command_time: float, result: Result, until: float = float("inf")
) -> Result:
    late = [
        call["time"] - command_time
        for call in deployment.endpoint.calls
        if command_time + OBEYED_WITHIN < call["time"] < until
    ]
    if late:
        result.problems.append(
            f"{len(late)} calls arrived later than {OBEYED_WITHIN:g} s, the last {max(late):.1f} s after"
        )
    return result
