"""A model server that answers with an error status for a second, and a replica that does so for ever."""

from __future__ import annotations

import time
from functools import partial

from tests.faults.deployment import CONCURRENCY
from tests.faults.endpoint import Endpoint
from tests.faults.lab import Lab, case
from tests.faults.result import Result
from tests.faults.servers import RECOVERED_WITHIN

_CHARGED = (
    "SELECT (SELECT coalesce(sum(failures), 0) FROM item) + (SELECT count(*) FROM episode WHERE ending = 'infra_error')"
)


def refuses(
    lab: Lab,
    status: int,
    *,
    episodes: int = 200,
    database: str = "postgresql",
    broker: str = "redis",
    seconds: float = 1.0,
) -> Result:
    """No item may be charged, and each process may ask only once for each of its slots."""
    with lab.deployment(database, broker, episodes=episodes) as deployment:
        deployment.start("celery" if broker else "dispatcher", "dispatcher")
        deployment.submit()
        deployment.wait_for_items(20)
        deployment.endpoint.control(mode=str(status))
        time.sleep(seconds)
        deployment.endpoint.control(mode="ok")
        deployment.end_fault()
        deployment.wait_for_jobs()
        result = deployment.result(bound=4 * CONCURRENCY)
        if failures := deployment.ask(_CHARGED):
            result.problems.append(f"{failures} failures charged to items")
        if result.recovery is None or result.recovery > RECOVERED_WITHIN:
            result.problems.append(f"it took {result.recovery} s to resume")
        return result


for _status in (404, 301, 401, 403):
    case(f"endpoint: {_status} for a second, PostgreSQL and Redis")(partial(refuses, status=_status))
case("endpoint: 404 for a second, SQLite")(partial(refuses, status=404, database="sqlite", broker=""))


@case("replicas: one refuses, one is well, PostgreSQL and Redis")
def one_replica_refuses(lab: Lab, episodes: int = 200) -> Result:
    """The other replica does all of the work."""
    with lab.deployment("postgresql", "redis", episodes=episodes) as deployment:
        folder = deployment.folder / "other"
        folder.mkdir()
        refusing_endpoint = Endpoint(folder, deployment.replies, 0.15)
        try:
            deployment.start("celery", "dispatcher")
            refusing_endpoint.control(mode="403")
            well = deployment.endpoint
            deployment.endpoint = _Both(well, refusing_endpoint)
            deployment.submit()
            deployment.wait_for_jobs()
            result = deployment.result(bound=4 * CONCURRENCY)
        finally:
            refusing_endpoint.stop()
        result.notes = (
            f"{refusing_endpoint.count} of {well.count + refusing_endpoint.count} calls went to the one that refuses"
        )
        if failures := deployment.ask(_CHARGED):
            result.problems.append(f"{failures} failures charged to items")
        return result


class _Both(Endpoint):
    """Two servers behind one address, as the deployment sees them."""

    def __init__(self, *servers: Endpoint):  # started already
        self._servers = servers

    @property
    def tgi(self) -> str:
        return "tgi://" + ",".join(f"127.0.0.1:{server.port}" for server in self._servers)

    @property
    def calls(self) -> list[dict]:
        return sorted((call for server in self._servers for call in server.calls), key=lambda call: call["time"])

    def stop(self) -> None:
        self._servers[0].stop()
