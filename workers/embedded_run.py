"""Run a job in the process that submitted it: a dispatcher in a thread, until none of the job's items is pending."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Self

from db.kinds.pools import POOLS
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.errors import InfrastructureError
from lumos_queue.util.wording import format_limit
from workers.context import WorkerContext
from workers.dispatcher import Dispatcher
from workers.hang import end_process
from workers.open_files import allow_open_files

RELEASE_SECONDS = 5.0  #: for the database to take back the items of a run that hangs
log = logging.getLogger(__name__)


class EmbeddedRun:
    """A job that a thread of this process runs. To drain means: items in flight may end, others stay pending.

    If this process needs a Watchdog, the caller starts it.
    """

    def __init__(
        self,
        deployment: Deployment,
        job: str,
        ends_process: bool = True,
        at_end: Callable[[], None] | None = None,
    ):
        """`ends_process`: whether a run that hangs ends this process, or is abandoned, as in a user's program.

        `at_end`: called in the thread when it ends, e.g. to close a deployment that nothing else uses.
        """
        self.job, self._at_end = job, at_end
        self.context = WorkerContext(deployment, on_hang=end_process if ends_process else self.abandon)
        self.stop = threading.Event()  #: set to drain because the process ends: by force if it takes too long
        self.given_up = threading.Event()  #: set to drain while the process continues
        self.over = threading.Event()  #: set when the thread has finished with the job, or is abandoned
        self.is_abandoned = False  #: whether the thread hangs, and nobody waits for it
        self.failure: BaseException | None = None  #: the error that ended the thread before the end of the job
        self.remark = allow_open_files(
            deployment.settings
        )  #: one line for a person if the limit of open files is low; or ''
        self.thread = threading.Thread(target=self._work, name=f"job-{job}", daemon=True)
        self._ending = threading.Lock()
        self._look_again = True  # whether the thread has to look at the job again before it ends
        self._has_ended = False

    def start(self) -> Self:
        self.thread.start()
        return self

    def go_on(self) -> bool:
        """Make the thread look at the resumed job once more before it ends; return False if the thread is ending."""
        with self._ending:
            if self._has_ended or self._is_stopping():
                return False
            self._look_again = True
            return True

    def close(self) -> None:
        """Drain, and wait until the thread ends or is abandoned."""
        self.stop.set()
        self.over.wait()
        if not self.is_abandoned:
            self.thread.join()

    def abandon(self, problem: str) -> None:
        """Abandon the thread, which hangs: its items are pending again, and `failure` has the reason for the caller.

        Another thread calls this. If the hanging thread continues later, it writes nothing and ends.
        """
        with self._ending:
            self._has_ended = True
        self.given_up.set()
        release_thread = threading.Thread(target=self.context.give_up_session, name="release", daemon=True)
        release_thread.start()
        release_thread.join(RELEASE_SECONDS)
        latest = format_limit(self.context.deployment.lease.seconds)
        self.failure = InfrastructureError(
            f"Job {self.job} is not worked on here any more: {problem}. Does a function, a tool or a plug-in of it "
            f"wait without await, or never return? What was in flight is pending again, at the latest in {latest}. "
            "Once this is fixed, continue with: resume()"
        )
        log.error("%s", self.failure)
        self.is_abandoned = True
        self.over.set()

    def _work(self) -> None:
        try:
            with _quiet_outage_logs():
                while self._should_look():
                    Dispatcher(self.context, POOLS, only=self.job).run(self._is_stopping)
        except BaseException as error:  # for the waiting caller
            self.failure = error
        finally:
            self._end()

    def _end(self) -> None:
        try:
            with self._ending:
                self._has_ended = True
            self.context.end_session()
            if self._at_end:
                self._at_end()
        except Exception as error:  # the database is away: the items are pending again when their lease ends
            self.failure = self.failure or error
        finally:
            self.over.set()

    def _is_stopping(self) -> bool:
        return self.stop.is_set() or self.given_up.is_set()

    def _should_look(self) -> bool:
        with self._ending:
            look_again, self._look_again = self._look_again and not self._is_stopping(), False
            self._has_ended = not look_again
            return look_again


@contextmanager
def _quiet_outage_logs() -> Generator[None, None, None]:
    """Suppress this thread's log lines about outages, because the waiting caller prints the outages."""
    thread = threading.get_ident()

    def is_loud(record: logging.LogRecord) -> bool:
        return record.thread != thread or record.levelno >= logging.ERROR

    loggers = [logging.getLogger(name) for name in ("workers.run", "workers.dispatcher")]
    for logger in loggers:
        logger.addFilter(is_loud)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(is_loud)
