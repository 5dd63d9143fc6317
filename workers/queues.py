"""The queues that a Celery worker consumes. After it has found no GPU, it leaves the pool gpu to other workers."""

from __future__ import annotations

import logging

from celery import Celery
from celery.worker.consumer import Consumer
from kombu.message import Message

from db.kinds.pools import POOLS, Pool
from lumos_queue.settings import Settings
from lumos_queue.util.launch_folder import empty_folder
from workers.gpus import find_gpus, get_known_gpus, share_answer

log = logging.getLogger(__name__)
_pools: tuple[str, ...] = POOLS


def get_served_pools() -> tuple[str, ...]:
    """Return the pools that this Celery worker, parent or child, was started for."""
    return _pools


def choose_queues(app: Celery, settings: Settings) -> None:
    """Choose the queues to consume. Celery's parent process calls this when its queues are known, before it forks.

    A worker that serves only the pool gpu asks torch for GPUs, which takes up to 60 s; without one it consumes nothing.
    Raises SpecError when processes cannot start in a folder of LUMOS_HOME.
    """
    global _pools
    share_answer()
    _pools = tuple(pool for pool in POOLS if pool in app.amqp.queues.consume_from)
    if _pools == (Pool.GPU,) and not find_gpus(empty_folder(settings.home)).number:
        print("lumos: this worker finds no GPU and serves no other pool: it takes no job", flush=True)
        app.amqp.queues.deselect([Pool.GPU])


def is_for_others(message: Message) -> bool:
    """Whether a message is for other workers: it announces a job of the pool gpu, and this worker has found no GPU."""
    gpus = get_known_gpus()
    return gpus is not None and not gpus.number and (message.delivery_info or {}).get("routing_key") == Pool.GPU


def leave_to_others(consumer: Consumer, message: Message) -> None:
    """Stop consuming the queue of the pool gpu, and give the message back to the broker."""
    log.warning("this worker has no GPU: it leaves the queue of the pool gpu to other workers")
    consumer.cancel_task_queue(Pool.GPU)
    message.reject_log_error(log, consumer.connection_errors, requeue=True)
