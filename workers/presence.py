"""The presence of an idle worker process: it has a worker session before it has work, so that people see it."""

from __future__ import annotations

import logging
import threading

from sqlalchemy.exc import SQLAlchemyError

from db.errors import reason
from lumos_queue.errors import LumosError
from workers.context import WorkerContext

log = logging.getLogger(__name__)


class Presence:
    """Begins the process's session in a thread, and another one when that was declared dead while nothing ran.

    A child of Celery must not wait for a database when it starts: Celery would take it for one that hangs.
    """

    def __init__(self, worker: WorkerContext):
        self._worker = worker
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="presence", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Begin no session any more. A thread that still waits for the database is left to itself."""
        self._stop.set()
        self._thread.join(timeout=1)

    def _run(self) -> None:
        has_warned = False
        while not self._stop.is_set():
            if not self._worker.is_present:
                try:
                    _ = self._worker.session
                    has_warned = False
                except (SQLAlchemyError, LumosError) as error:  # it comes back, or is upgraded, sooner or later
                    if not has_warned:
                        log.warning("this process is not seen by others yet: %s", reason(error))
                    has_warned = True
            self._stop.wait(self._worker.settings.heartbeat_seconds)
