"""Give an idle worker process a worker session, so that people see it before it has work."""

from __future__ import annotations

import logging
import threading

from db.engine.errors import reason
from lumos_queue.errors import LumosError
from workers.context import WorkerContext

log = logging.getLogger(__name__)


class Presence:
    """Begins the process's session in a thread, and a new session if an idle process's session was declared dead.

    A child process of Celery must not wait for a database when it starts: Celery would treat it as hanging.
    """

    def __init__(self, worker: WorkerContext):
        self._worker = worker
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="presence", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Begin no further session. Return after at most a second, even if the thread still waits for the database."""
        self._stop.set()
        self._thread.join(timeout=1)

    def _run(self) -> None:
        has_warned = False
        while not self._stop.is_set():
            if not self._worker.is_present:
                try:
                    _ = self._worker.session
                    has_warned = False
                except LumosError as error:  # it comes back, or a person upgrades it
                    if not has_warned:
                        log.warning("this process is not visible to others yet: %s", reason(error))
                    has_warned = True
            self._stop.wait(self._worker.settings.heartbeat_seconds)
