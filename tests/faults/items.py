"""Faults that come from the work itself: a task that kills its process, one that blocks the event loop."""

from __future__ import annotations

from typing import Any

from db.engine.lease import Lease
from db.queue.quarantine import DEATHS
from tests.faults.deployment import CONCURRENCY, FENCE, LEASE
from tests.faults.groups import Group
from tests.faults.lab import Lab, case
from tests.faults.poisonous import KILL
from tests.faults.result import Result
from tests.gold_agent import gold_replies
from workers.hang import HUNG


@case("one poisonous item among 200, PostgreSQL and Redis")
def poison(
    lab: Lab, episodes: int = 200, database: str = "postgresql", broker: str = "redis", **settings: Any
) -> Result:
    """Every process that works on it dies, until it runs alone and is quarantined."""
    deployment = lab.deployment(
        database, broker, episodes=episodes, latency=0.05, endpoint="tests.faults.poisonous", **settings
    )
    poisoned_row = episodes // 3
    rows = deployment.rows("test")
    deployment.replies |= dict.fromkeys(gold_replies(rows.benchmark, [rows.tasks[poisoned_row]], "iterative"), KILL)
    with deployment:
        kinds = ("celery", "dispatcher") if broker else ("dispatcher", "dispatcher")
        groups = deployment.start(*kinds, FAULT_DEATH_WAITS="0.5,1,1.5")
        deployment.submit()
        deployment.quarantined = 1

        def over() -> bool:
            for group in groups:
                if not group.alive:
                    group.start()
            return deployment.ask("SELECT state FROM job") == "done"

        deployment.wait(over, "the job is done", 180)
        deaths = deployment.ask("SELECT count(*) FROM worker_session WHERE ended_by LIKE 'session%'")
        result = deployment.result(bound=deployment.estimate_wasted(deaths))
        ordinal = deployment.ask("SELECT ordinal FROM item WHERE state = 'quarantined'")
        if ordinal != poisoned_row:
            result.problems.append(f"item {ordinal} is in quarantine, not {poisoned_row}")
        alone = deployment.ask("SELECT deaths FROM item WHERE state = 'quarantined'")
        if alone != DEATHS:
            result.problems.append(f"{alone} processes died of the item alone, not {DEATHS}")
        result.notes = f"{deaths} processes died before the quarantine"
        return result


@case("one poisonous item among 200, SQLite")
def poison_on_sqlite(lab: Lab) -> Result:
    return poison(lab, database="sqlite", broker="")


@case("event loop blocked for two leases")
def block(lab: Lab, episodes: int = 200) -> Result:
    """The heartbeat is withheld and another process takes over; afterwards the first one writes nothing."""
    return _block(lab, episodes, 2 * LEASE)


@case("event loop blocked for good")
def block_for_good(lab: Lab, episodes: int = 200) -> Result:
    """The process ends itself."""
    return _block(lab, episodes, 3600.0)


def _block(lab: Lab, episodes: int, seconds: float) -> Result:
    with lab.deployment("postgresql", episodes=episodes, latency=0.3) as deployment:
        order = deployment.folder / "block"
        groups = deployment.start("dispatcher", "dispatcher", FAULT_BLOCK=str(order))
        deployment.submit()
        deployment.wait_for_items(20)
        (deployment.folder / "block.new").write_text(str(seconds))
        (deployment.folder / "block.new").rename(order)
        deployment.wait(lambda: not order.exists(), "a process blocks", 10)
        deployment.end_fault()
        deployment.deaths += 1
        deployment.wait_for_jobs()
        problems = []
        if seconds > Lease(LEASE).hung_seconds:
            deployment.wait(lambda: _hung(groups), "the process ends itself", Lease(LEASE).hung_seconds + 5 * FENCE)
        else:
            deployment.wait(lambda: any(group.has_logged("withheld") for group in groups), "the block is noticed", 10)
            if any(not group.alive for group in groups):
                problems.append("a process ended, though its loop continued")
        # When the loop runs again, each episode in flight may ask once more.
        result = deployment.result(bound=deployment.estimate_wasted(1) + CONCURRENCY, repeats=CONCURRENCY)
        result.problems += problems
        return result


def _hung(groups: list[Group]) -> bool:
    return sorted(group.process.poll() or 0 for group in groups) == [0, HUNG]
