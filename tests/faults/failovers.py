"""Servers that the database cannot follow: a model server with too large counts, a database without writes."""

from __future__ import annotations

import time

from tests.faults.deployment import FENCE
from tests.faults.lab import Lab, case
from tests.faults.result import Result
from tests.services import Postgres, start_postgres


@case("a server that says 2147483647 tokens, PostgreSQL")
def many_tokens(lab: Lab, episodes: int = 60) -> Result:
    """Then it reports a number that no column can hold. No item may fail because of these numbers."""
    with lab.deployment("postgresql", "redis", episodes=episodes) as deployment:
        deployment.start("celery", "dispatcher")
        deployment.endpoint.control(mode="tokens:2147483647")
        deployment.submit()
        deployment.wait_for_items(episodes // 2)
        deployment.endpoint.control(mode="tokens:1e300")
        deployment.wait_for_jobs()
        result = deployment.result(bound=0)
        clamped_calls = deployment.ask("SELECT count(*) FROM completion WHERE note LIKE '%clamped%'")
        max_tokens = deployment.ask("SELECT max(completion_tokens) FROM episode")
        result.notes = f"{clamped_calls} calls with a note, {max_tokens} tokens in one episode"
        if not clamped_calls or max_tokens <= 2**31:
            result.problems.append("the numbers did not arrive")
        if failures := deployment.ask("SELECT sum(failures) FROM item"):
            result.problems.append(f"{failures} failures charged to items")
        return result


@case("PostgreSQL read-only for three seconds")
def read_only(lab: Lab, seconds: float = 3.0, episodes: int = 150) -> Result:
    """An ordinary failover: connections stay, every write is refused with SQLSTATE 25006."""
    with start_postgres() as server:
        deployment = lab.deployment(server.fresh(), "redis", episodes=episodes)
        with deployment:
            deployment.start("celery", "dispatcher")
            deployment.submit()
            deployment.wait_for_items(20)
            refuse_writes(server, True)
            time.sleep(seconds)
            refuse_writes(server, False)
            deployment.end_fault()
            deployment.wait_for_jobs()
            bound = 0 if seconds < FENCE else deployment.estimate_wasted(2) + deployment.estimate_unwritten(2)
            result = deployment.result(bound=bound)
            worker_count = sum(group.has_logged("read-only transaction") for group in deployment.groups)
            result.notes = f"{worker_count} workers met it"
            if not worker_count:
                result.problems.append("no worker met it")
            return result


def refuse_writes(server: Postgres, is_read_only: bool) -> None:
    """Refuse or allow writes on all connections of the server."""
    change = "SET default_transaction_read_only = on" if is_read_only else "RESET default_transaction_read_only"
    server.execute(f"ALTER SYSTEM {change}")
    server.execute("SELECT pg_reload_conf()")
