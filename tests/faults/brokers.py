"""A broker that is gone, forgets, repeats itself, or hands out what strangers wrote."""

from __future__ import annotations

from collections.abc import Callable

import redis
from kombu.connection import Connection

from tests.bad_messages import BAD_ENVELOPES, bad_messages, counted, publish
from tests.faults.deployment import Deployment
from tests.faults.lab import Lab, case
from tests.faults.result import Result
from tests.services import running_rabbitmq, running_redis


@case("Redis gone for good")
def redis_gone(lab: Lab, episodes: int = 200) -> Result:
    with running_redis() as server:
        return _broker_gone(lab.deployment("postgresql", server.url, episodes=episodes), server.stop)


@case("RabbitMQ gone for good")
def rabbitmq_gone(lab: Lab, episodes: int = 200) -> Result:
    with running_rabbitmq() as server:
        return _broker_gone(lab.deployment("postgresql", server.url, episodes=episodes), server.stop)


def _broker_gone(deployment: Deployment, stop: Callable[[], None]) -> Result:
    """The Celery worker dies with its broker; what starts in its place hears of nothing. The dispatcher goes on."""
    with deployment:
        celery, _ = deployment.start("celery", "dispatcher")
        deployment.submit()
        deployment.wait_for_items(20)
        stop()
        deployment.strike(celery)
        celery.start()
        deployment.wait_for_jobs()
        result = deployment.result()
        if not celery.alive:
            result.problems.append("the Celery worker ended instead of waiting for its broker")
        return result


@case("FLUSHALL in mid-job")
def flushed(lab: Lab, episodes: int = 200) -> Result:
    """With the queues go Celery's own tables; then the process that works on the job dies, and no message is left."""
    with running_redis() as server, lab.deployment("postgresql", server.url, episodes=episodes) as deployment:
        celery, _ = deployment.start("celery", "dispatcher")
        deployment.submit()
        deployment.wait_for_items(20)
        redis.Redis(port=server.port).flushall()
        deployment.strike(celery, holder_only=True)
        deployment.wait_for_jobs()
        return deployment.result()


@case("every notification dropped")
def notifications_dropped(lab: Lab, episodes: int = 200) -> Result:
    with lab.deployment("sqlite", "redis", episodes=episodes) as deployment:
        deployment.start("celery", "dispatcher")
        deployment.submit(notified=False)
        deployment.fault_ended()
        deployment.wait_for_jobs()
        return deployment.result()


@case("every notification lost, and workers brought back")
def notifications_lost(lab: Lab, episodes: int = 400) -> Result:
    """A worker that no message reaches is idle: the dispatcher sends it one, and it works beside it."""
    deployment = lab.deployment("postgresql", "redis", episodes=episodes, slice_seconds=2.0)
    deployment.also(100, "iterative", "dev")  # with another job waiting, the dispatcher's slices are short
    with deployment:
        deployment.start("celery", "dispatcher")
        deployment.submit(notified=False)
        sessions = "SELECT count(DISTINCT session) FROM item WHERE state = 'claimed'"
        deployment.wait(lambda: deployment.ask(sessions) > 1, "the Celery worker works, too", 60)
        deployment.wait_for_jobs()
        return deployment.result()


@case("each notification delivered 100 times, Redis")
def notifications_repeated(lab: Lab, times: int = 100, episodes: int = 200, broker: str = "redis") -> Result:
    with lab.deployment("postgresql", broker, episodes=episodes) as deployment:
        deployment.start("celery", "celery")
        job = deployment.submit()
        for _ in range(times):
            deployment.notify(job, 1)
        deployment.wait_for_jobs()
        deployment.wait(lambda: _waiting(deployment) == 0, "the worker has taken every message", 60)
        return deployment.result()


@case("each notification delivered 100 times, RabbitMQ")
def notifications_repeated_on_rabbitmq(lab: Lab) -> Result:
    return notifications_repeated(lab, broker="rabbitmq")


def _waiting(deployment: Deployment) -> int:
    """Messages in the queue."""
    with Connection(deployment.broker_url) as connection:
        channel = connection.channel()
        try:
            return channel.queue_declare("llm", passive=True).message_count
        except connection.channel_errors:  # on Redis an empty queue is none
            return 0


@case("forged messages, Redis")
def forged(lab: Lab, episodes: int = 100, broker: str = "redis") -> Result:
    """No dispatcher: the worker that gets all that garbage has to do the job, too."""
    with lab.deployment("postgresql", broker, episodes=episodes) as deployment:
        trace = deployment.folder / "executed"
        (celery,) = deployment.start("celery")
        messages = list(bad_messages(trace))
        publish(deployment.broker_url, messages, "llm")
        job = deployment.submit()
        publish(deployment.broker_url, messages, "llm")
        if broker == "redis":
            redis.Redis.from_url(deployment.broker_url).rpush("llm", *BAD_ENVELOPES)
        deployment.notify(job, episodes)
        deployment.wait_for_jobs()
        deployment.wait(lambda: _waiting(deployment) == 0, "the worker has taken every message", 60)
        wanted = 2 * len(messages) + (len(BAD_ENVELOPES) if broker == "redis" else 0)
        deployment.wait(lambda: sum(counted(deployment.database).values()) >= wanted, "every refusal is counted", 30)
        result = deployment.result()
        if not celery.alive:
            result.problems.append("the worker ended")
        if trace.exists():
            result.problems.append("a message was executed")
        return result


@case("forged messages, RabbitMQ")
def forged_on_rabbitmq(lab: Lab) -> Result:
    return forged(lab, broker="rabbitmq")
