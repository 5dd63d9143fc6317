"""Checks of passwords in their own thread, so that logins do not keep pages waiting."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

from lumos_queue.web.access.login_methods import LoginMethod
from lumos_queue.web.access.users import Person
from lumos_queue.web.errors import Busy

MAX_WAITING = 20


class PasswordChecks:
    """One thread, because each check takes 64 MiB, and a few places to wait for it."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="passwords")
        self._lock, self._count = threading.Lock(), 0

    async def admit(self, login_method: LoginMethod, name: str, secret: str) -> Person | None:
        """Return the person with this name and secret; None if they are wrong. Raises Busy if too many logins wait."""
        with self._lock:
            if self._count > MAX_WAITING:
                raise Busy("Many people are logging in: try again soon.")
            self._count += 1
        future = self._thread.submit(login_method.admit, name, secret)
        future.add_done_callback(self._leave)
        return await asyncio.wrap_future(future)

    def stop(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _leave(self, _: object) -> None:
        with self._lock:
            self._count -= 1
