"""The Celery app: its broker, its queues and the form of its messages.

`celery -A workers.app …` imports `app` from here; `workers.run_celery` runs that command outside the current folder.
"""

from __future__ import annotations

import logging
import mmap
import sys
from collections.abc import Callable
from types import ModuleType

import billiard.pool
from celery import Celery
from celery.loaders.app import AppLoader
from celery.signals import (
    after_setup_logger,
    after_setup_task_logger,
    worker_init,
    worker_shutdown,
    worker_shutting_down,
)
from kombu.entity import Exchange, Queue

from db.kinds.job_kinds import JobKind
from db.kinds.pools import POOLS, Pool
from lumos_queue.settings import read_settings
from lumos_queue.util.display import LogFormatter
from workers import transports
from workers.open_files import allow_open_files
from workers.preload import preload
from workers.queues import choose_queues
from workers.rejection_counter import close_rejected_messages
from workers.stop_signal import MAX_SLICES

#: Celery task of each kind of job: the names that Flower shows and routing goes by.
CELERY_TASKS = {
    JobKind.CONVERT: "convert",
    JobKind.TRAIN: "train_shard",
    JobKind.INFER: "infer",
    JobKind.EVALUATE: "evaluate",
}
_USUAL_POOL = {
    JobKind.CONVERT: Pool.CPU,
    JobKind.TRAIN: Pool.GPU,
    JobKind.INFER: Pool.LLM,
    JobKind.EVALUATE: Pool.LLM,
}
#: Seconds beyond the longest slice after which a child counts as hanging and is killed. Items in flight at the end of
#: a slice may continue until then: an episode for minutes, a training window for a day.
HANGS_AFTER, TRAINING_HANGS_AFTER = 3600.0, 86400.0

# A child that ends waits until its parent has read its last result, by default for 30 s. A parent that shuts down at
# the end of a slice does not always read it, and our results are empty. In tenths of a second:
billiard.pool.GUARANTEE_MESSAGE_CONSUMPTION_RETRY_LIMIT = 20


class Loader(AppLoader):
    """Celery's loader, changed so that it never imports modules of the current folder."""

    def import_from_cwd(
        self, module: str, imp: Callable[..., ModuleType] | None = None, package: str | None = None
    ) -> ModuleType:
        return (imp or self.import_module)(module, package)


def make_app(broker_url: str, slice_seconds: float = 60.0) -> Celery:
    """Return an app for a broker, without connecting to it."""
    transports.install_transports()
    is_redis = broker_url.startswith(("redis:", "rediss:"))
    longest = MAX_SLICES * slice_seconds
    app = Celery("lumos", broker=broker_url or None, loader=Loader, include=["workers.tasks"], set_as_current=False)
    app.conf.update(
        # A message is a notification: an id in JSON, no result. The database holds the rest.
        accept_content=["json"],
        task_serializer="json",
        event_serializer="json",
        result_backend=None,
        task_ignore_result=True,
        worker_consumer="workers.validation:CheckingConsumer",
        # RabbitMQ 3.10 and 4.3 both accept this: durable queues without a declared type, and a prefetch limit for each
        # consumer. Where an administrator has made quorum queues the default, these are quorum queues.
        task_queues=[Queue(pool, Exchange(pool), routing_key=pool) for pool in POOLS],
        task_default_queue=POOLS[0],
        task_routes={CELERY_TASKS[kind]: {"queue": pool} for kind, pool in _USUAL_POOL.items()},
        # No worker keeps a message that another could process. RabbitMQ allows only this way: the message of a running
        # slice is not confirmed and counts as prefetched. (RabbitMQ takes a message back after 30 minutes; only slices
        # of training last that long.)
        worker_prefetch_multiplier=1,
        worker_disable_prefetch=is_redis,
        task_acks_late=not is_redis,
        task_time_limit=longest + HANGS_AFTER,
        task_annotations={"train_shard": {"time_limit": longest + TRAINING_HANGS_AFTER, "acks_late": False}},
        # A broker may be away for any time; meanwhile dispatchers find the work by themselves.
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_connection_timeout=4,
        broker_channel_error_retry=is_redis,  # without it, a full Redis would end a worker that starts
        broker_heartbeat=30,
        broker_transport_options=_redis_options() if is_redis else _rabbitmq_options(),
        # Flower needs these events.
        worker_send_task_events=True,
        task_send_sent_event=True,
        task_track_started=True,
        worker_hijack_root_logger=True,
        worker_log_color=False,
        worker_log_format="%(asctime)s %(levelname)s %(processName)s %(name)s: %(message)s",
        worker_task_log_format="%(asctime)s %(levelname)s %(processName)s %(task_name)s: %(message)s",
        timezone="UTC",
    )
    return app


def _redis_options() -> dict[str, object]:
    return {
        # A message that no worker confirmed is sent again; at worst, a slice has nothing to do.
        "visibility_timeout": 3600,
        "socket_connect_timeout": 4,
        "socket_timeout": 30,
        "socket_keepalive": True,
        "health_check_interval": 10,
    }


def _rabbitmq_options() -> dict[str, object]:
    # Otherwise a message that the broker does not accept is lost without any error.
    return {"confirm_publish": True}


def _from_environment() -> Celery:
    settings = read_settings()
    return make_app(settings.broker_url, settings.slice_seconds)


app = _from_environment()

# One byte of memory that parent and forked children share, because only the parent receives TERM.
_drain = mmap.mmap(-1, 1)


def draining() -> bool:
    """Whether this worker, parent or child, is shutting down."""
    return _drain[0] == 1


@after_setup_logger.connect
@after_setup_task_logger.connect
def _escape_log_lines(logger: logging.Logger | None = None, **_: object) -> None:
    for handler in getattr(logger, "handlers", ()):
        if handler.formatter and not isinstance(handler.formatter, LogFormatter):
            handler.setFormatter(LogFormatter(handler.formatter))


@worker_init.connect
def _begin(**_: object) -> None:
    _drain[0] = 0
    if not app.conf.broker_url:
        sys.exit(
            "No broker: set LUMOS_BROKER_URL, as in redis://HOST:6379/0 or amqp://USER:PASSWORD@HOST:5672//, "
            "or start one with: lumos up"
        )
    settings = read_settings()
    if too_few := allow_open_files(settings):  # before it forks: its children inherit the limit
        print(f"lumos: {too_few}", file=sys.stderr, flush=True)
    choose_queues(app, settings)
    preload(settings)


@worker_shutting_down.connect
def _shut_down(**_: object) -> None:
    _drain[0] = 1


@worker_shutdown.connect
def _end(**_: object) -> None:
    close_rejected_messages()
