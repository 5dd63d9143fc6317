"""A Redis that answers and refuses: it is full (OOM), cannot save (MISCONF), is loading, or is a read-only replica.

That passes, and nothing is lost meanwhile: jobs are in the database, and dispatchers find them there. So a worker waits
for it as for a broker that is away, and its log has a line about it each minute, without a traceback.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from redis.exceptions import BusyLoadingError, ResponseError

REPEAT_SECONDS = 60.0  #: between two lines of a log that say the same
WAIT_SECONDS = 5.0  #: before a worker begins again at a broker that refuses
#: Who reports a broker that refuses, again and again: kombu and Celery with a traceback, Flower each second.
_LOGGERS = (
    "celery.worker.consumer.consumer",
    "flower.events",
    "flower.inspector",
    "kombu.mixins",  # also that it has connected again
    "kombu.transport.redis",
    "workers.remote_control",
)


def find_refusal(error: BaseException | None) -> str:
    """What a broker said when it refused, as the error or its cause has it; '' for any other error."""
    for _ in range(5):
        if error is None:
            break
        if isinstance(error, ResponseError | BusyLoadingError):
            return " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__
        error = error.__cause__ or error.__context__
    return ""


class OncePerMinute(logging.Filter):
    """Drops a line about a refusal that repeats another of the last minute; the first is one line, without a traceback.

    That a client has connected again is said as seldom: at a broker that refuses it connects each second.
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
    """The error that a record is about: as its traceback, or among its values."""
    if isinstance(record.exc_info, tuple) and record.exc_info[1]:
        return record.exc_info[1]
    values = record.args if isinstance(record.args, tuple) else ()
    return next((value for value in values if isinstance(value, BaseException)), None)


def quiet_logs() -> None:
    """Have the logs of this process say once a minute that a broker refuses. Later calls change nothing."""
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        if not any(isinstance(log_filter, OncePerMinute) for log_filter in logger.filters):
            logger.addFilter(OncePerMinute())
