"""A model server that refuses, fails, hangs or sends garbage for a while."""

from __future__ import annotations

import time
from functools import partial

from tests.faults.deployment import CONCURRENCY
from tests.faults.lab import Lab, case
from tests.faults.result import Result

RECOVERED_WITHIN = 45.0  #: seconds: a job that waits for its endpoint checks it again after 5, 10, 20, 40


def endpoint_fails(
    lab: Lab,
    mode: str,
    *,
    seconds: float = 6.0,
    episodes: int = 200,
    database: str = "postgresql",
    broker: str = "redis",
) -> Result:
    """`mode`: as in tests/fake_endpoint.py. The only effect may be a delay."""
    deployment = lab.deployment(database, broker, episodes=episodes, request_seconds=2.0, silence_seconds=2.0)
    with deployment:
        deployment.start("celery" if broker else "dispatcher", "dispatcher")
        deployment.submit()
        deployment.wait_for_items(20)
        deployment.endpoint.control(mode=mode)
        time.sleep(seconds)
        deployment.endpoint.control(mode="ok")
        deployment.end_fault()
        deployment.wait_for_jobs()
        failures, max_failures = (
            deployment.ask(f"SELECT {function}(failures) FROM item") for function in ("sum", "max")
        )
        # Every request in flight is tried a few times; after a charged item another item sends a request.
        tries = 1 + deployment.settings.request_retries
        result = deployment.result(bound=2 * CONCURRENCY + (2 * CONCURRENCY + failures) * tries)
        result.notes = f"{failures} failures charged to items, at most {max_failures} to one"
        if failures > 2 * CONCURRENCY:
            result.problems.append(f"{failures} failures charged to items: more than were in flight")
        if result.recovery is None or result.recovery > RECOVERED_WITHIN:
            result.problems.append(f"it took {result.recovery} s to resume")
        return result


for _mode in ("429", "429:1", "500", "hang", "truncated", "garbage", "reset", "huge"):
    case(f"endpoint: {_mode}, PostgreSQL and Redis")(partial(endpoint_fails, mode=_mode))
case("endpoint: 500, SQLite")(partial(endpoint_fails, mode="500", database="sqlite", broker=""))
