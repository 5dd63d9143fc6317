"""Processes that are stopped for longer than their lease and then continue."""

from __future__ import annotations

import os
import signal
import time

from sqlalchemy import text

from tests.faults.deployment import CONCURRENCY, LEASE, Deployment
from tests.faults.groups import Group
from tests.faults.lab import Lab, case
from tests.faults.result import Result
from tests.services import wait_until


@case("stopped for three leases, PostgreSQL and Redis")
def stop_on_postgresql(lab: Lab, stops: int = 2, episodes: int = 300) -> Result:
    return _stop_at_random(lab.deployment("postgresql", "redis", episodes=episodes), ("celery", "dispatcher"), stops)


@case("stopped for three leases, SQLite")
def stop_on_sqlite(lab: Lab, stops: int = 2, episodes: int = 300) -> Result:
    return _stop_at_random(lab.deployment("sqlite", episodes=episodes), ("dispatcher", "dispatcher"), stops)


@case("stopped inside a transaction, PostgreSQL")
def stop_in_transaction_on_postgresql(lab: Lab, stops: int = 2, episodes: int = 300) -> Result:
    """The process waits for a row lock in the middle of its commit, is stopped, and then gets the lock."""
    with lab.deployment("postgresql", episodes=episodes) as deployment:
        groups = deployment.start("dispatcher", "dispatcher")
        deployment.submit()
        for number in range(stops):
            deployment.wait_for_items(20 * (number + 1))
            deployment.wait(lambda: _stop_while_it_waits(deployment, groups), "a commit waits for a row")
            others_went_on = deployment.count_done()
            time.sleep(3 * LEASE)
            assert deployment.count_done() > others_went_on, "everything stopped with one process"
            for group in groups:
                group.signal(signal.SIGCONT)
            deployment.end_fault()
        return _result(deployment)


@case("stopped inside a transaction, SQLite")
def stop_in_transaction_on_sqlite(lab: Lab, stops: int = 2, episodes: int = 300, leases: float = 3.0) -> Result:
    """SQLite has one writer: no process can write before the stopped process continues."""
    with lab.deployment("sqlite", episodes=episodes) as deployment:
        groups = deployment.start("dispatcher", "dispatcher")
        deployment.submit()
        for number in range(stops):
            deployment.wait_for_items(20 * (number + 1))
            victim = groups[number % len(groups)]
            wait_until(lambda: _stop_while_it_writes(deployment, victim), "it is stopped while it writes", 60, 0.005)  # noqa: B023
            time.sleep(leases * LEASE)
            victim.signal(signal.SIGCONT)
            deployment.end_fault()
        deployment.deaths += stops  # the others could not report either
        # Nor could they write: the calls of their episodes in flight were waiting meanwhile.
        return _result(deployment, pending_calls=deployment.estimate_unwritten(stops))


def _stop_at_random(deployment: Deployment, kinds: tuple[str, ...], stops: int) -> Result:
    with deployment:
        groups = deployment.start(*kinds)
        deployment.submit()
        for number in range(stops):
            deployment.wait_for_items(20 * (number + 1))
            victim = groups[number % len(groups)]
            victim.signal(signal.SIGSTOP)
            deployment.deaths += 1
            time.sleep(3 * LEASE)
            victim.signal(signal.SIGCONT)
            deployment.end_fault()
        return _result(deployment)


def _result(deployment: Deployment, pending_calls: int = 0) -> Result:
    deployment.wait_for_jobs()
    # On waking, each episode in flight may ask once more before its process learns that it was declared dead.
    zombies = deployment.deaths * CONCURRENCY
    return deployment.result(
        bound=deployment.estimate_wasted(deployment.deaths) + zombies + pending_calls, repeats=zombies
    )


def _stop_while_it_waits(deployment: Deployment, groups: list[Group]) -> bool:
    """Lock a claimed item's row until its process waits for it, stop the process, unlock. Return whether it worked."""
    by_pid = {group.process.pid: group for group in groups}
    with deployment.database.writer.begin() as connection:
        pid = connection.execute(
            text(
                "SELECT w.pid FROM item i JOIN worker_session w ON w.id = i.session WHERE i.state = 'claimed' "
                "AND w.ended_at IS NULL ORDER BY i.id DESC LIMIT 1 FOR UPDATE OF i SKIP LOCKED"
            )
        ).scalar()
        if pid not in by_pid:
            return False
        until = time.monotonic() + 8
        while time.monotonic() < until:
            with deployment.database.engine.connect() as second_connection:
                if second_connection.execute(
                    text(
                        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND "
                        "application_name = :pid AND query LIKE '%UPDATE \"item\"%'"
                    ),
                    {"pid": str(pid)},
                ).scalar():
                    by_pid[pid].signal(signal.SIGSTOP)
                    deployment.deaths += 1
                    return True
            time.sleep(0.01)
    return False


def _stop_while_it_writes(deployment: Deployment, group: Group) -> bool:
    """Stop the process, and continue it unless it holds the write lock."""
    path = deployment.database.engine.url.database
    assert path
    group.signal(signal.SIGSTOP)
    if _holds_lock(path, group.process.pid):
        deployment.deaths += 1
        return True
    group.signal(signal.SIGCONT)
    return False


def _holds_lock(path: str, pid: int) -> bool:
    """Whether the process holds a lock on the database's write-ahead log for writing (byte 120 of its -shm file)."""
    inode = f":{os.stat(path + '-shm').st_ino}"
    with open("/proc/locks", encoding="ascii") as locks:
        rows = [line.split() for line in locks]
    return any(
        row[3] == "WRITE" and int(row[4]) == pid and row[5].endswith(inode) and row[6] == "120"
        for row in rows
        if row[1] in ("POSIX", "OFDLCK")
    )
