"""A model server that always fails for some rows, answers only health checks, or is gone for minutes."""

from __future__ import annotations

import time

from tests.fake_endpoint import digest
from tests.faults.deployment import CONCURRENCY, Deployment
from tests.faults.lab import Lab, case
from tests.faults.result import Result
from tests.faults.servers import RECOVERED_WITHIN
from tests.gold_agent import gold_replies
from workers.item import MAX_ROUNDS

LONGEST_WAIT = 60.0  #: seconds between two checks of an endpoint that has been gone for long
SILENCE = 6.0  #: seconds without an answer after which the case cancels a late request
CHARGED = "SELECT (SELECT sum(failures) FROM item) + (SELECT count(*) FROM episode WHERE ending = 'infra_error')"


@case("endpoint: 5 rows of 200 always fail, PostgreSQL and Redis")
def rows_fail(
    lab: Lab,
    episodes: int = 200,
    failing_rows: int = 5,
    database: str = "postgresql",
    broker: str = "redis",
    seconds: float = 240.0,
) -> Result:
    """The first rows fail, which are claimed before all others. Only they end as infra_error."""
    with_failing = lab.deployment(database, broker, episodes=episodes)
    rows = with_failing.rows("test")
    with_failing.replies |= dict.fromkeys(gold_replies(rows.benchmark, rows.tasks[:failing_rows], "iterative"), 500)
    with_failing.replies[digest("1 + 1 =")] = " 2"  # the control
    with_failing.failing = failing_rows
    with with_failing as deployment:
        deployment.start("celery" if broker else "dispatcher", "dispatcher")
        deployment.submit()
        deployment.wait_for_items(episodes - failing_rows)
        healthy_at = time.monotonic() - deployment.began
        deployment.wait_for_jobs(seconds)
        tries = 1 + deployment.settings.request_retries
        result = deployment.result(bound=failing_rows * MAX_ROUNDS * (tries + 1))  # with a control for each round
        result.notes = f"the healthy rows were done after {healthy_at:.0f} s"
        waits = deployment.ask("SELECT max(waits) FROM job")
        if waits:
            result.problems.append(f"the endpoint was called down {waits} times")
        return result


@case("endpoint: it answers for its health alone, PostgreSQL and Redis")
def health_alone(lab: Lab, episodes: int = 200, seconds: float = 15.0) -> Result:
    """Late requests are cancelled after the time of silence, and no item is charged for them."""
    with lab.deployment(
        "postgresql", "redis", episodes=episodes, request_seconds=1.0, silence_seconds=SILENCE
    ) as deployment:
        deployment.start("celery", "dispatcher")
        deployment.submit()
        deployment.wait_for_items(20)
        deployment.endpoint.control(mode="hang")
        time.sleep(SILENCE / 2)
        request_count = deployment.endpoint.count
        time.sleep(SILENCE / 4)
        again = deployment.endpoint.count - request_count
        time.sleep(seconds - SILENCE * 3 / 4)
        deployment.endpoint.control(mode="ok")
        deployment.end_fault()
        deployment.wait_for_jobs()
        # Each request in flight is sent once more after the time of silence; then there may be a control.
        result = deployment.result(bound=2 * (2 * CONCURRENCY) + 8)
        if again:
            result.problems.append(f"{again} requests were sent while all were late")
        _check_uncharged(deployment, result, RECOVERED_WITHIN)
        return result


@case("endpoint: gone for three minutes, PostgreSQL and Redis")
def gone(lab: Lab, episodes: int = 200, seconds: float = 180.0) -> Result:
    """The job waits, and resumes by itself when the server is back on its port."""
    with lab.deployment("postgresql", "redis", episodes=episodes) as deployment:
        deployment.start("celery", "dispatcher")
        deployment.submit()
        deployment.wait_for_items(20)
        deployment.endpoint.stop()
        deployment.wait(lambda: deployment.ask("SELECT max(waits) FROM job"), "the job waits")
        time.sleep(seconds)
        deployment.endpoint.start()
        deployment.end_fault()
        deployment.wait_for_jobs()
        result = deployment.result(bound=2 * CONCURRENCY)
        _check_uncharged(deployment, result, LONGEST_WAIT + 15)
        return result


def _check_uncharged(deployment: Deployment, result: Result, recovered_within: float) -> None:
    if failures := deployment.ask(CHARGED):
        result.problems.append(f"{failures} failures charged to items")
    if result.recovery is None or result.recovery > recovered_within:
        result.problems.append(f"it took {result.recovery} s to resume")
