"""Detect a Redis that refuses commands: it is full (OOM), cannot save (MISCONF), is loading, or is a read-only replica.

Such a refusal is temporary, and nothing is lost: jobs are in the database, where dispatchers find them. So a worker
waits as for a broker that is away, and logs one line about it each minute, without a traceback.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from redis.exceptions import BusyLoadingError, ResponseError

REPEAT_SECONDS = 60.0  #: between two equal lines of a log
WAIT_SECONDS = 5.0  #: before a worker connects again to a broker that refuses
#: Loggers that report a refusing broker repeatedly: kombu and Celery with a traceback, Flower each second.
_LOGGERS = (
    "celery.worker.consumer.consumer",
    "flower.events",
    "flower.inspector",
    "kombu.mixins",  # reports reconnections, too
    "kombu.transport.redis",
    "workers.remote_control",
)


def find_refusal(error: BaseException | None) -> str:
    """Return the broker's reason if the error, or one of its causes, is a refusal of the broker; otherwise ''."""
    for _ in range(5):
        if error is None:
            break
        if isinstance(error, ResponseError | BusyLoadingError):
            return " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__
        error = error.__cause__ or error.__context__
    return ""


class OncePerMinute(logging.Filter):
    """Filters log lines about refusals: it drops lines that repeat a line of the last minute, and all tracebacks.

    Lines about reconnections are limited in the same way: a client of a refusing broker reconnects each second.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        super().__init__()
        self._clock, self._log_times, self._lock = clock, dict[str, float](), threading.Lock()

    def filter(self, record: logging.LogRecord) -> bool:
        error = _find_error(record)
        refusal = find_refusal(error)
        if not refusal and record.name != "kombu.mixins":
            return True
        key, now = f"{record.msg} {type(error).__name__}", self._clock()
        with self._lock:
            if now - self._log_times.get(key, -REPEAT_SECONDS) < REPEAT_SECONDS:
                return False
            self._log_times[key] = now
        if record.exc_info:
            record.msg, record.args = f"{record.getMessage()}: {refusal}", ()
            record.exc_info = record.exc_text = None
        return True


def _find_error(record: logging.LogRecord) -> BaseException | None:
    """Return the error that a log record reports, by its traceback or as one of its arguments."""
    if isinstance(record.exc_info, tuple) and record.exc_info[1]:
        return record.exc_info[1]
    values = record.args if isinstance(record.args, tuple) else ()
    return next((value for value in values if isinstance(value, BaseException)), None)


def quiet_logs() -> None:
    """Limit the log lines of this process about a refusing broker to one a minute. Later calls change nothing."""
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        if not any(isinstance(log_filter, OncePerMinute) for log_filter in logger.filters):
            logger.addFilter(OncePerMinute())
