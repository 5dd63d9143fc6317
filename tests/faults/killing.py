"""Kill worker process groups at random instants of a job, and count what that cost.

    python -m tests.faults.killing --kills 10 --episodes 500 [--deployment]

prints one JSON object. The endpoint is a fake one that plays the gold agent with a fixed latency and counts its calls.
Embedded: a dispatcher on SQLite. With --deployment: a Celery worker and a dispatcher on real Redis and PostgreSQL.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from sqlalchemy import text

from db.connection import open_database
from db.jobs import get_job, progress
from db.migrate import upgrade
from lumos_queue.agent import Agent
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.settings import Settings
from lumos_queue.submission import read_rows, submit
from tests.fake_endpoint import FakeEndpoint, from_mapping
from tests.faults.invariants import broken
from tests.gold_agent import gold_replies
from tests.services import running_postgres, running_redis
from workers.nudge import nudge

CONCURRENCY = 16
#: Short, so that a run with many kills takes minutes; the order of the three is what matters.
TIMES = {"LUMOS_HEARTBEAT_SECONDS": "0.5", "LUMOS_FENCE_SECONDS": "2", "LUMOS_LEASE_SECONDS": "3"}
DISPATCHER = (sys.executable, "-m", "lumos_queue.cli.main", "worker", "--pools", "llm")
CELERY = (sys.executable, "-m", "celery", "-A", "workers.app", "worker", "-Q", "llm", "-c", "1", "-l", "WARNING")


def kill_and_count(
    database_url: str, *, broker_url: str = "", kills: int, episodes: int, formulation: str, latency: float, seed: int
) -> dict:
    """Run an evaluation of `episodes` tasks while its workers are killed `kills` times; returns the counts."""
    pick = random.Random(seed)
    database = open_database(database_url)
    upgrade(database)
    rows = read_rows(open_benchmark("wordmath"), None, "test", False)
    replies = gold_replies(rows.benchmark, rows.tasks[:episodes], formulation)
    environment = {
        **os.environ, **TIMES, "LUMOS_DATABASE_URL": database_url, "LUMOS_BROKER_URL": broker_url,
        "LUMOS_CONCURRENCY": str(CONCURRENCY), "LUMOS_POLL_SECONDS": "0.3",
    }  # fmt: skip
    commands = [DISPATCHER, CELERY] if broker_url else [DISPATCHER]
    with FakeEndpoint(from_mapping(replies), latency=latency) as server:
        agent = Agent(roles={"planner": server.tgi, "grounder": server.tgi}, domain="maths")
        job = Evaluate(Infer("wordmath", rows.digest, "test", formulation, agent, limit=episodes))
        settings = Settings(database_url=database_url, broker_url=broker_url, concurrency=CONCURRENCY)
        identifier, _ = submit(database, settings, job, rows)
        nudge(settings, "evaluate", identifier, episodes)
        began, done = time.monotonic(), 0
        group = _start(commands, environment)
        try:
            for _ in range(kills):
                _wait_for_progress(database, identifier, server)
                time.sleep(pick.uniform(0.0, 2.0))
                _kill(group)
                done += 1
                group = _start(commands, environment)
                nudge(settings, "evaluate", identifier, episodes)
            _wait_for_end(database, identifier)
        finally:
            _kill(group)
        with database.engine.connect() as connection:
            recorded = connection.execute(
                text("SELECT count(*) FROM completion c JOIN episode e ON e.id = c.episode WHERE e.job = :job"),
                {"job": identifier},
            ).scalar_one()
            right = connection.execute(
                text("SELECT count(*) FROM score s JOIN episode e ON e.id = s.episode "
                     "WHERE e.job = :job AND s.metric = 'accuracy' AND s.value = 1"),
                {"job": identifier},
            ).scalar_one()  # fmt: skip
            return {
                "formulation": formulation,
                "database": database.engine.dialect.name,
                "broker": broker_url.partition(":")[0],
                "kills": done,
                "episodes": episodes,
                "state": get_job(connection, identifier).state,
                "items": progress(connection, identifier),
                "right": right,
                "calls_at_endpoint": server.count,
                "calls_recorded": recorded,
                "calls_needed": _needed(connection, identifier),
                "wasted": server.count - recorded,
                # What may be lost with a process: what was in flight, and what waited for one commit.
                "bound": done * 2 * CONCURRENCY * len(commands),
                "broken_invariants": {
                    name: [list(row) for row in rows] for name, rows in broken(connection, identifier).items()
                },
                "seconds": round(time.monotonic() - began, 1),
            }


def _needed(connection, job: str) -> int:
    return connection.execute(text("SELECT sum(calls) FROM episode WHERE job = :job"), {"job": job}).scalar_one()


def _start(commands: Sequence[Sequence[str]], environment: dict[str, str]) -> list[subprocess.Popen]:
    """Each command as a process group of its own, as a service manager would."""
    return [subprocess.Popen(command, env=environment, start_new_session=True) for command in commands]


def _kill(group: Sequence[subprocess.Popen]) -> None:
    for process in group:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _wait_for_progress(database, job: str, server: FakeEndpoint) -> None:
    """Until the new processes have asked the endpoint something, so that every kill hits work in progress."""
    before, until = server.count, time.monotonic() + 60
    while server.count == before:
        assert time.monotonic() < until, "the workers do not get on"
        with database.engine.connect() as connection:
            assert get_job(connection, job).state != "done", "the job was done before the last kill: make it longer"
        time.sleep(0.05)


def _wait_for_end(database, job: str) -> None:
    until = time.monotonic() + 300
    while True:
        with database.engine.connect() as connection:
            if get_job(connection, job).state == "done":
                return
        assert time.monotonic() < until, "the job does not end"
        time.sleep(0.2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--episodes", type=int, default=500)
    parser.add_argument("--formulation", default="iterative")
    parser.add_argument("--latency", type=float, default=0.2, help="seconds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--deployment", action="store_true")
    given = parser.parse_args()
    run = partial(
        kill_and_count, kills=given.kills, episodes=given.episodes, formulation=given.formulation,
        latency=given.latency, seed=given.seed,
    )  # fmt: skip
    if given.deployment:
        with running_postgres() as postgres, running_redis() as redis:
            result = run(postgres.fresh(), broker_url=redis.fresh())
    else:
        with tempfile.TemporaryDirectory() as folder:
            result = run(f"sqlite:///{Path(folder) / 'lumos.db'}")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
