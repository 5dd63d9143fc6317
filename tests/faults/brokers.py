"""A broker that is gone, loses or repeats messages, or delivers forged messages."""

from __future__ import annotations

from collections.abc import Callable

import redis
from kombu.connection import Connection

from tests.bad_messages import BAD_ENVELOPES, bad_messages, count_refusals, publish
from tests.faults.deployment import Deployment
from tests.faults.lab import Lab, case
from tests.faults.result import Result
from tests.services import start_rabbitmq, start_redis


@case("Redis gone for good")
def redis_gone(lab: Lab, episodes: int = 200) -> Result:
    with start_redis() as server:
        return _broker_gone(lab.deployment("postgresql", server.url, episodes=episodes), server.stop)


@case("RabbitMQ gone for good")
def rabbitmq_gone(lab: Lab, episodes: int = 200) -> Result:
    with start_rabbitmq() as server:
        return _broker_gone(lab.deployment("postgresql", server.url, episodes=episodes), server.stop)


def _broker_gone(deployment: Deployment, stop: Callable[[], None]) -> Result:
    """The Celery worker dies with its broker, and its successor gets no message. The dispatcher continues."""
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
def flush_broker(lab: Lab, episodes: int = 200) -> Result:
    """Celery's own tables are lost with the queues. Then the process that works on the job dies without a message."""
    with start_redis() as server, lab.deployment("postgresql", server.url, episodes=episodes) as deployment:
        celery, _ = deployment.start("celery", "dispatcher")
        deployment.submit()
        deployment.wait_for_items(20)
        redis.Redis(port=server.port).flushall()
        deployment.strike(celery, holder_only=True)
        deployment.wait_for_jobs()
        return deployment.result()


@case("every notification dropped")
def drop_notifications(lab: Lab, episodes: int = 200) -> Result:
    with lab.deployment("sqlite", "redis", episodes=episodes) as deployment:
        deployment.start("celery", "dispatcher")
        deployment.submit(with_notice=False)
        deployment.end_fault()
        deployment.wait_for_jobs()
        return deployment.result()


@case("every notification lost, and workers brought back")
def notifications_lost(lab: Lab, episodes: int = 400) -> Result:
    """A worker without a message is idle: the dispatcher sends it a message, and both work."""
    deployment = lab.deployment("postgresql", "redis", episodes=episodes, slice_seconds=2.0)
    deployment.add_job(100, "iterative", "dev")  # with another job waiting, the dispatcher's slices are short
    with deployment:
        deployment.start("celery", "dispatcher")
        deployment.submit(with_notice=False)
        sessions = "SELECT count(DISTINCT session) FROM item WHERE state = 'claimed'"
        deployment.wait(lambda: deployment.ask(sessions) > 1, "the Celery worker works, too", 60)
        deployment.wait_for_jobs()
        return deployment.result()


@case("each notification delivered 100 times, Redis")
def repeat_notifications(lab: Lab, times: int = 100, episodes: int = 200, broker: str = "redis") -> Result:
    with lab.deployment("postgresql", broker, episodes=episodes) as deployment:
        deployment.start("celery", "celery")
        job = deployment.submit()
        for _ in range(times):
            deployment.notify(job, 1)
        deployment.wait_for_jobs()
        deployment.wait(lambda: _count_messages(deployment) == 0, "the worker has taken every message", 60)
        return deployment.result()


@case("each notification delivered 100 times, RabbitMQ")
def repeat_notifications_on_rabbitmq(lab: Lab) -> Result:
    return repeat_notifications(lab, broker="rabbitmq")


def _count_messages(deployment: Deployment) -> int:
    """Messages in the queue."""
    with Connection(deployment.broker_url) as connection:
        channel = connection.channel()
        try:
            return channel.queue_declare("llm", passive=True).message_count
        except connection.channel_errors:  # on Redis an empty queue is none
            return 0


@case("forged messages, Redis")
def forge_messages(lab: Lab, episodes: int = 100, broker: str = "redis") -> Result:
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
        deployment.wait(lambda: _count_messages(deployment) == 0, "the worker has taken every message", 60)
        expected_count = 2 * len(messages) + (len(BAD_ENVELOPES) if broker == "redis" else 0)
        deployment.wait(
            lambda: sum(count_refusals(deployment.database).values()) >= expected_count, "every refusal is counted", 30
        )
        result = deployment.result()
        if not celery.alive:
            result.problems.append("the worker ended")
        if trace.exists():
            result.problems.append("a message was executed")
        return result


@case("forged messages, RabbitMQ")
def forge_messages_on_rabbitmq(lab: Lab) -> Result:
    return forge_messages(lab, broker="rabbitmq")
