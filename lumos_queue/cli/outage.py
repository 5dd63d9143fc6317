"""Outages, for the person who waits: told at once, every minute while they last, and when they are over."""

from __future__ import annotations

import time
from collections.abc import Callable

from lumos_queue.errors import EndpointDown

TELL_SECONDS = 60.0  #: from one line about an outage to the next
GIVE_UP_SECONDS = 60.0  #: without an item that was answered, while only a person can help
_FOR_A_PERSON = (*range(300, 400), 401, 402, 403, 404, 405)  #: statuses that stay what they are until somebody acts


class Outage:
    """Something that keeps a job from going on. `tell` says a line, `clock` gives seconds."""

    def __init__(self, tell: Callable[[str], None], clock: Callable[[], float] = time.monotonic):
        self._tell, self._clock = tell, clock
        self._since: float | None = None
        self._told_at = 0.0

    def see(self, cause: str, over: bool) -> None:
        """`cause`: what is seen of it now, empty while a try is under way; `over`: whether there was an answer."""
        now = self._clock()
        if cause and self._since is None:
            self._since = self._told_at = now
            self._tell(f"waits: {cause}")
        elif cause and now - self._told_at >= TELL_SECONDS:
            self._told_at = now
            self._tell(f"waits since {self._seconds(now)}: {cause}")
        elif not cause and over and self._since is not None:
            self._tell(f"goes on after {self._seconds(now)}")
            self._since = None

    def _seconds(self, now: float) -> str:
        assert self._since is not None
        return f"{now - self._since:.0f} s"


def gave_up(outage: EndpointDown) -> str:
    """The line that says for what a command gave up."""
    return f"gave up after {GIVE_UP_SECONDS:.0f} s without an answer: {outage}"


class Patience:
    """How long to wait for an endpoint that answers what only a person can change. Other outages end by themselves."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._since: float | None = None  # of the outage, or of the item that was answered last

    def ends(self, outage: EndpointDown | None, answered: bool) -> bool:
        """Whether to give up. `outage`: the current one; `answered`: whether an item was since the last look."""
        if outage is None or outage.status not in _FOR_A_PERSON:
            self._since = None
        elif self._since is None or answered:
            self._since = self._clock()
        return self._since is not None and self._clock() - self._since >= GIVE_UP_SECONDS
