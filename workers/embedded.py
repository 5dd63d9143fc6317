"""Working on a job in the process that submitted it: a dispatcher in a thread, until nothing of the job is owed."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

from lumos_queue.settings import Settings
from workers.context import WorkerContext
from workers.dispatcher import Dispatcher
from workers.open_files import allow_open_files
from workers.watchdog import Watchdog

POOLS = ("cpu", "llm", "gpu")


class EmbeddedRun:
    """One job, worked on by a thread of this process. `stop` drains: what is in flight may end, the rest stays owed."""

    def __init__(self, settings: Settings, job: str):
        self.job = job
        self.context = WorkerContext(settings)
        self.stop = threading.Event()  #: set to have it drain
        self.over = threading.Event()  #: set when the thread is through with the job
        self.failure: BaseException | None = None  #: what ended the thread, if that was not the end of the job
        self.remark = allow_open_files(settings)  #: one line for a person where open files are too few; or ''
        self.thread = threading.Thread(target=self._work, name=f"job-{job}", daemon=True)

    def start(self) -> Self:
        self.thread.start()
        return self

    def close(self) -> None:
        """Drain, and wait until the thread has ended."""
        self.stop.set()
        self.thread.join()

    def _work(self) -> None:
        try:
            with Watchdog(self.context, self.stop.is_set), _quiet_outage_logs():
                Dispatcher(self.context, POOLS, only=self.job).run(self.stop.is_set)
        except BaseException as error:  # for whoever waits
            self.failure = error
        finally:
            try:
                self.context.close()
            finally:
                self.over.set()


@contextmanager
def _quiet_outage_logs() -> Iterator[None]:
    """Mute the log lines about outages: whoever waits for the job is told of them."""
    loggers = [logging.getLogger(name) for name in ("workers.run", "workers.dispatcher")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
