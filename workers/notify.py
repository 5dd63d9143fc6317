"""Messages that announce work on a job. If a message is lost, a dispatcher finds the work seconds later."""

from __future__ import annotations

import logging
import threading
from functools import cache
from math import ceil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from celery import Celery

from db.kinds.job_kinds import JobKind
from lumos_queue.settings import Settings

log = logging.getLogger(__name__)
MAX_MESSAGES = 4  #: of one notification: each starts a slice, in a free slot of a worker
MAX_SECONDS = 2.0  #: of a notification, whatever the broker does


def notify_workers(settings: Settings, kind: str, job: str, items: int, pool: str = "") -> bool:
    """Announce `items` pending items of `job` to the workers of a pool.

    Return whether the broker accepted all messages in time. The call takes at most MAX_SECONDS and never raises.
    `pool`: of the job; '' means the usual pool of jobs of that kind.
    """
    if not settings.broker_url or items < 1:
        return False
    count = min(MAX_MESSAGES, ceil(items / settings.concurrency))
    completion = threading.Event()

    def send() -> None:
        try:
            _send(settings, kind, job, count, pool)
            completion.set()
        except Exception as error:  # whatever the error, the job is stored and dispatchers will find it
            from workers.broker_refusals import find_refusal

            log.warning("notification for job %s not sent: %s", job, find_refusal(error) or type(error).__name__)

    # In a thread, because name resolution and connecting can hang for longer than any time-out of the client.
    thread = threading.Thread(target=send, name="notify", daemon=True)
    thread.start()
    thread.join(MAX_SECONDS)
    return completion.is_set()


def _send(settings: Settings, kind: str, job: str, count: int, pool: str) -> None:
    from workers.app import CELERY_TASKS

    name = CELERY_TASKS[JobKind(kind)]
    app = _app(settings.broker_url)
    with app.connection_for_write(connect_timeout=1) as connection, app.amqp.Producer(connection) as producer:
        options = {"queue": pool} if pool else {}
        for _ in range(count):
            app.send_task(name, args=[job], producer=producer, retry=False, ignore_result=True, **options)


@cache
def _app(broker_url: str) -> Celery:
    """Return an app with short time-outs."""
    from workers.app import make_app

    app = make_app(broker_url)
    once = {"max_retries": 1, "interval_start": 0, "interval_max": 0}  # kombu takes 0 retries for any number of them
    if broker_url.startswith("redis"):
        limits = {"socket_connect_timeout": 1, "socket_timeout": 1}
    else:
        limits = {"read_timeout": 1, "write_timeout": 1}
    app.conf.broker_transport_options = {**app.conf.broker_transport_options, **once, **limits}
    app.conf.broker_connection_retry = False
    return app
