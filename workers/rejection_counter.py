"""Count rejected messages in memory. A thread adds the counts to the database at most once a second.

So a flood of bad messages costs one small transaction and one log line a second. If the database does not answer, the
counts stay in memory.
"""

from __future__ import annotations

import logging
import threading

from db.queue.rejection_counts import add_rejected
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.settings import Settings, read_settings
from workers.per_process import PerProcess

log = logging.getLogger(__name__)
EVERY_SECONDS = 1.0
AGAIN_SECONDS = 10.0  #: after the database did not take the counts
MAX_DETAIL = 200  #: characters of a message's description


class RejectedMessageCounter:
    """The counts of one process, by reason."""

    def __init__(self, settings: Settings):
        self._settings = settings
        self._counts: dict[str, tuple[int, str]] = {}
        self._lock = threading.Lock()
        self._has_counts, self._stop = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="rejected messages", daemon=True)
        self._thread.start()

    def add(self, reason: str, detail: str, messages: int = 1) -> None:
        """Add to the count of `reason`. `detail` may come from a stranger, so it is truncated and made printable."""
        line = "".join(character if character.isprintable() else "?" for character in detail[:MAX_DETAIL])
        with self._lock:
            self._counts[reason] = (self._counts.get(reason, (0, ""))[0] + messages, line)
        self._has_counts.set()

    def close(self) -> None:
        """Write the remaining counts. They are lost if the database does not answer now."""
        self._stop.set()
        self._has_counts.set()
        self._thread.join(timeout=5)

    def _run(self) -> None:
        while not self._stop.is_set():
            self._has_counts.wait()
            self._has_counts.clear()
            self._stop.wait(EVERY_SECONDS if self._write() else AGAIN_SECONDS)
        self._write()

    def _write(self) -> bool:
        with self._lock:
            counts, self._counts = self._counts, {}
        if not counts:
            return True
        try:
            # Opened and closed each time: Celery's parent must hold no connection when it forks.
            with Deployment(self._settings) as deployment:
                add_rejected(deployment.database, counts)
        except Exception as error:  # no error may end the worker
            log.warning("refused messages not counted yet: %s", str(error).splitlines()[0])
            self._restore(counts)
            return False
        for reason, (messages, latest) in counts.items():
            log.warning("refused %d message%s: %s; the latest: %s", messages, "s" * (messages > 1), reason, latest)
        return True

    def _restore(self, counts: dict[str, tuple[int, str]]) -> None:
        """Add counts whose write has failed to the newer counts, so that they are written later."""
        with self._lock:
            for reason, (messages, latest) in counts.items():
                new_messages, newer = self._counts.get(reason, (0, ""))
                self._counts[reason] = (messages + new_messages, newer or latest)
        self._has_counts.set()


_counters = PerProcess(lambda: RejectedMessageCounter(read_settings()))


def get_rejection_counter() -> RejectedMessageCounter:
    """Return the counter of this process."""
    return _counters.get()


def close_rejected_messages() -> None:
    """Close the counter at the end of this process."""
    if counter := _counters.take():
        counter.close()
