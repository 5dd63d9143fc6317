"""End the Celery task of a slice that met an outage or an error with the state FAILURE and one line of text.

This is no error of the task: the job waits, and a dispatcher finds it again. So the message is confirmed, and Celery
retries nothing. The log has no traceback: the line names the failure.
"""

from __future__ import annotations

from billiard.einfo import ExceptionInfo
from billiard.exceptions import WorkerLostError
from celery import Task
from celery.worker.request import Request


class SliceFailed(Exception):
    """Raised by a Celery task whose slice met an outage or an internal error; the message is one line."""


class SliceRequest(Request):
    """A task's request in Celery's parent process. It reports a failed slice or lost child without a traceback."""

    def on_failure(self, exc_info: ExceptionInfo, send_failed_event: bool = True, return_ok: bool = False) -> None:
        exc_info.exception = getattr(exc_info.exception, "exc", exc_info.exception)  # Celery's wrapper has no words
        if isinstance(exc_info.exception, SliceFailed | WorkerLostError):
            exc_info.traceback = ""
        super().on_failure(exc_info, send_failed_event, return_ok)


class SliceTask(Task):
    """The base class of the four Celery tasks."""

    abstract = True
    Request = f"{__name__}:SliceRequest"
    throws = (SliceFailed,)  # its log line has no traceback either
