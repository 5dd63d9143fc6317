"""Processes of the system as the tests see them: children of a process, and whether a process still runs."""

from __future__ import annotations

from collections.abc import Iterable

import psutil

from tests.services import wait_until


def child_pids(pid: int | None = None, recursive: bool = False) -> set[int]:
    """Return the ids of the children of a process (of this process by default), zombies included."""
    return {child.pid for child in psutil.Process(pid).children(recursive)}


def is_running(pid: int) -> bool:
    """Return whether the process runs; an orphan may stay a zombie until its new parent waits for it."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_until_ended(pids: Iterable[int], seconds: float = 180) -> None:
    """Wait until none of the processes runs.

    Raises:
        pytest.fail.Exception: one of them still runs after `seconds`.
    """
    pids = set(pids)
    wait_until(lambda: not any(map(is_running, pids)), f"the processes {sorted(pids)} end", seconds)
