"""A network between workers and PostgreSQL that loses all data, while all connections stay open."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.engine import make_url

from tests.faults.deployment import FENCE, LEASE, Deployment
from tests.faults.lab import Lab, case
from tests.faults.result import Result
from tests.tcp_proxy import TcpProxy
from workers.stop_signal import LEAVING_SECONDS

DRAIN = 1.0  #: seconds


@case("database connections black-holed for two leases")
def black_hole(lab: Lab, seconds: float = 2 * LEASE, episodes: int = 150) -> Result:
    with _behind_a_proxy(lab, episodes) as (deployment, proxy):
        proxy.mode = "black_hole"
        time.sleep(seconds)
        notices = sum(group.has_logged("the database has not answered since") for group in deployment.groups)
        proxy.mode = "pass"
        deployment.end_fault()
        return _finish(deployment, notices)


@case("TERM while database connections are black-holed")
def terminate_in_black_hole(lab: Lab, episodes: int = 150) -> Result:
    """Each process ends within its time limit; new processes do the work when the network is back."""
    with _behind_a_proxy(lab, episodes) as (deployment, proxy):
        proxy.mode = "black_hole"
        time.sleep(FENCE / 2)
        began = time.monotonic()
        for group in deployment.groups:
            group.process.send_signal(signal.SIGTERM)
        limit = DRAIN + LEAVING_SECONDS + 5.0  # for a parent to notice the end of its child, and to end
        late = ""
        while any(group.alive for group in deployment.groups):
            if time.monotonic() - began > limit:
                late = f"{sum(group.alive for group in deployment.groups)} workers live {limit:g} s after TERM"
                break
            time.sleep(0.05)
        duration = time.monotonic() - began
        proxy.mode = "pass"
        deployment.end_fault()
        for group in deployment.groups:
            group.kill()
            group.start()
        result = _finish(deployment, len(deployment.groups))
        result.notes = f"all ended {duration:.1f} s after TERM"
        if late:
            result.problems.append(late)
        return result


@contextmanager
def _behind_a_proxy(lab: Lab, episodes: int) -> Iterator[tuple[Deployment, TcpProxy]]:
    """Yield a deployment with a Celery worker and a dispatcher in mid-job, which reach the server by a proxy."""
    with lab.deployment("postgresql", "redis", episodes=episodes, drain_seconds=DRAIN) as deployment:
        direct = make_url(deployment.settings.database)
        with TcpProxy(str(Path(str(direct.query["host"])) / ".s.PGSQL.5432")) as proxy:
            through = direct.set(host="127.0.0.1", port=proxy.port, query={}).render_as_string(hide_password=False)
            deployment.start("celery", "dispatcher", LUMOS_DATABASE_URL=through)
            deployment.submit()
            deployment.wait_for_items(20)
            yield deployment, proxy


def _finish(deployment: Deployment, notices: int) -> Result:
    deployment.deaths += 2  # neither could report
    deployment.wait_for_jobs()
    result = deployment.result(bound=deployment.estimate_wasted(2) + deployment.estimate_unwritten(2))
    result.notes = f"{notices} workers reported it"
    if notices < 2:
        result.problems.append("a worker did not notice")
    return result
