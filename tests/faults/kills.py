"""Worker processes killed at random instants of a job."""

from __future__ import annotations

import time

from tests.faults.lab import Lab, case
from tests.faults.result import Result


@case("50 kills, PostgreSQL and Redis")
def kills_on_postgresql(lab: Lab, kills: int = 50, episodes: int = 1000) -> Result:
    """Two jobs of so many episodes, on two Celery workers and a dispatcher."""
    deployment = lab.deployment("postgresql", "redis", episodes=episodes)
    deployment.add_job(episodes, "one-pass", "familiar")
    return _kill(deployment, ("celery", "celery", "dispatcher"), kills, 2 * episodes)


@case("10 kills, PostgreSQL and RabbitMQ")
def kills_on_rabbitmq(lab: Lab, kills: int = 10, episodes: int = 400) -> Result:
    return _kill(
        lab.deployment("postgresql", "rabbitmq", episodes=episodes), ("celery", "celery", "dispatcher"), kills, episodes
    )


@case("10 kills, SQLite")
def kills_on_sqlite(lab: Lab, kills: int = 10, episodes: int = 400) -> Result:
    return _kill(lab.deployment("sqlite", episodes=episodes), ("dispatcher", "dispatcher"), kills, episodes)


@case("10 kills, SQLite and Redis")
def kills_on_sqlite_and_redis(lab: Lab, kills: int = 10, episodes: int = 400) -> Result:
    return _kill(lab.deployment("sqlite", "redis", episodes=episodes), ("celery", "dispatcher"), kills, episodes)


def _kill(deployment, kinds: tuple[str, ...], kills: int, episodes: int) -> Result:
    """Kill whole groups, or only their process with items, over the whole job; start dead groups again."""
    with deployment:
        groups = deployment.start(*kinds)
        deployment.submit()
        for kill in range(kills):
            deployment.wait_for_items((kill + 1) * int(episodes * 0.8) // (kills + 1))
            time.sleep(deployment.pick.uniform(0.0, 0.4))
            victim = deployment.pick.choice(groups)
            deployment.strike(victim, holder_only=deployment.pick.random() < 0.5)
            if not victim.alive:
                victim.start()
        deployment.wait_for_jobs()
        return deployment.result()
