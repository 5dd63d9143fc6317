"""Refuse SQLite in forked children that would hang.

If a thread holds a lock of SQLite at the fork, the lock stays locked in the child forever, and the next call hangs.
Children that are forked while no thread works may use SQLite; all children may use PostgreSQL.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager

from lumos_queue.errors import SpecError
from lumos_queue.settings import Settings

_calls: Counter[int] = Counter()  # thread to its calls in progress
_is_refused = False


@contextmanager
def note_call(deployment: Settings) -> Generator[None, None, None]:
    """Count a call as in progress until it ends. Raises SpecError if it would hang on SQLite."""
    if _is_refused and deployment.database.startswith("sqlite"):
        raise SpecError(
            "This process was forked while its parent worked on jobs in threads, and cannot use SQLite: fork before "
            "the first job, start processes anew (multiprocessing's 'spawn'), or set LUMOS_DATABASE_URL to PostgreSQL."
        )
    thread = threading.get_ident()
    _calls[thread] += 1
    try:
        yield
    finally:
        _calls[thread] -= 1


def refuse_sqlite() -> None:
    """Refuse SQLite in this process from now on: it is a forked child, and its parent worked on jobs at the fork."""
    global _is_refused
    _is_refused = True


def _look_at_calls() -> None:
    calling_threads = [thread for thread, count in _calls.items() if count and thread != threading.get_ident()]
    if calling_threads:
        refuse_sqlite()
    for thread in calling_threads:
        del _calls[thread]


os.register_at_fork(after_in_child=_look_at_calls)
