"""Forked children and SQLite, whose own locks stay locked in a child for good if a thread held them at the fork.

Such a child would hang at its next call; so it is refused. A child that is made while no thread works may call, and so
may any on PostgreSQL.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from lumos_queue.errors import SpecError
from lumos_queue.settings import Settings

_calls: Counter[int] = Counter()  # thread to its calls in progress
_is_refused = False


@contextmanager
def note_call(deployment: Settings) -> Iterator[None]:
    """Around all that uses a database. Raises SpecError where that would hang."""
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
    """In a forked child whose parent was at work."""
    global _is_refused
    _is_refused = True


def _look_at_calls() -> None:
    calling_threads = [thread for thread, count in _calls.items() if count and thread != threading.get_ident()]
    if calling_threads:
        refuse_sqlite()
    for thread in calling_threads:
        del _calls[thread]


os.register_at_fork(after_in_child=_look_at_calls)
