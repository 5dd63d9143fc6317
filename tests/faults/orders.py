"""What a person tells a running job: cancel, pause, resume."""

from __future__ import annotations

import time

from tests.faults.deployment import Deployment
from tests.faults.lab import Lab, case
from tests.faults.result import Result

OBEYED_WITHIN = 5.0  #: seconds after which no new call may arrive at the endpoint


@case("cancelled in mid-job, PostgreSQL and Redis")
def cancelled(lab: Lab, episodes: int = 400, database: str = "postgresql", broker: str = "redis") -> Result:
    with lab.deployment(database, broker, episodes=episodes, latency=0.3) as deployment:
        deployment.start("celery" if broker else "dispatcher", "dispatcher")
        job = deployment.submit()
        deployment.wait_for_items(20)
        told = deployment.command("cancel", job)
        deployment.wait_for_jobs(state="cancelled", seconds=30)
        deployment.expected = "cancelled"
        time.sleep(OBEYED_WITHIN)
        # What was in flight when they heard of it: its replies are of no use.
        return _obeyed(deployment, told, deployment.result(bound=deployment.wasted_by(2)))


@case("cancelled in mid-job, SQLite")
def cancelled_on_sqlite(lab: Lab) -> Result:
    return cancelled(lab, database="sqlite", broker="")


@case("paused and resumed, PostgreSQL and Redis")
def paused(
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
        told = deployment.command("pause", job)
        time.sleep(seconds)
        resumed = time.time()
        assert deployment.ask("SELECT state FROM job") == "paused"
        deployment.command("resume", job)
        deployment.faults.append(resumed)
        deployment.wait_for_jobs()
        result = deployment.result(bound=deployment.wasted_by(2))
        return _obeyed(deployment, told, result, until=resumed)


def _obeyed(deployment: Deployment, told: float, result: Result, until: float = float("inf")) -> Result:
    late = [call["time"] - told for call in deployment.endpoint.calls if told + OBEYED_WITHIN < call["time"] < until]
    if late:
        result.problems.append(
            f"{len(late)} calls arrived later than {OBEYED_WITHIN:g} s, the last {max(late):.1f} s after"
        )
    return result
