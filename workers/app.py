"""The Celery app: which broker, which queues, and what a message may be. `celery -A workers.app …` finds `app` here."""

from __future__ import annotations

import mmap
import sys

from celery import Celery
from celery.signals import worker_init, worker_shutting_down
from kombu.entity import Queue

from lumos_queue.settings import read_settings

#: Celery task of each kind of job: the names that Flower shows and routing goes by.
CELERY_TASKS = {"convert": "convert", "train": "train_shard", "infer": "infer", "evaluate": "evaluate"}
POOLS = ("cpu", "llm", "gpu")  #: also the names of the queues
_USUAL_POOL = {"convert": "cpu", "train_shard": "gpu", "infer": "llm", "evaluate": "llm"}


def make_app(broker_url: str) -> Celery:
    """An app for a broker. Nothing is connected to yet."""
    app = Celery("lumos", broker=broker_url or None, include=["workers.tasks"], set_as_current=False)
    app.conf.update(
        # A message is a nudge: ids in JSON, no result, gone when received. The database knows the rest.
        accept_content=["json"],
        task_serializer="json",
        event_serializer="json",
        result_backend=None,
        task_ignore_result=True,
        task_acks_late=False,
        task_queues=[Queue(pool) for pool in POOLS],
        task_default_queue=POOLS[0],
        task_routes={name: {"queue": pool} for name, pool in _USUAL_POOL.items()},
        worker_prefetch_multiplier=1,
        worker_disable_prefetch=_is_redis(broker_url),
        # A broker that goes away comes back some day; meanwhile dispatchers find the work by themselves.
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_connection_timeout=4,
        broker_transport_options=_redis_options() if _is_redis(broker_url) else {},
        # What Flower shows.
        worker_send_task_events=True,
        task_send_sent_event=True,
        task_track_started=True,
        worker_hijack_root_logger=True,
        worker_log_format="%(asctime)s %(levelname)s %(processName)s %(name)s: %(message)s",
        worker_task_log_format="%(asctime)s %(levelname)s %(processName)s %(task_name)s: %(message)s",
        timezone="UTC",
    )
    return app


def _is_redis(url: str) -> bool:
    return url.startswith(("redis", "valkey"))


def _redis_options() -> dict[str, object]:
    return {
        # A nudge that no worker confirmed is sent again: at worst a slice that finds nothing to do.
        "visibility_timeout": 3600,
        "socket_connect_timeout": 4,
        "socket_timeout": 30,
        "socket_keepalive": True,
        "health_check_interval": 10,
    }


app = make_app(read_settings().broker_url)

# One byte of memory that parent and forked children share. Celery hears TERM in the parent only.
_drain = mmap.mmap(-1, 1)


def draining() -> bool:
    """Whether this worker, parent or child, has been told to shut down."""
    return _drain[0] == 1


@worker_init.connect
def _begin(**_) -> None:
    _drain[0] = 0
    if not app.conf.broker_url:
        sys.exit("No broker: set LUMOS_BROKER_URL, as in redis://HOST:6379/0, or start one with: lumos up")


@worker_shutting_down.connect
def _shut_down(**_) -> None:
    _drain[0] = 1
