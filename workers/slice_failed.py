"""How a slice that met something broken ends as a Celery task: FAILURE in one line.

It is no error of the task: the job waits and is found again, so the message is confirmed and nothing is retried. There
is nothing to trace, either: the line names what was broken.
"""

from __future__ import annotations

from typing import Any

from billiard.exceptions import WorkerLostError
from celery import Task
from celery.worker.request import Request


class SliceFailed(Exception):
    """Raised by a Celery task whose slice met an endpoint, a database or a fault; the message is one line."""


class SliceRequest(Request):
    """What Celery's parent keeps of a task: tells of a failed slice, or of a child that was lost, without a trace."""

    def on_failure(self, exc_info: Any, send_failed_event: bool = True, return_ok: bool = False) -> None:
        exc_info.exception = getattr(exc_info.exception, "exc", exc_info.exception)  # Celery's wrapper has no words
        if isinstance(exc_info.exception, SliceFailed | WorkerLostError):
            exc_info.traceback = ""
        super().on_failure(exc_info, send_failed_event, return_ok)


class SliceTask(Task):
    """The base of the four tasks."""

    abstract = True
    Request = f"{__name__}:SliceRequest"  # type: ignore[assignment]
    throws = (SliceFailed,)  # its log line has no traceback either
