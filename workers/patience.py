"""Decide when to stop waiting for a job whose endpoint only a person can repair."""

from __future__ import annotations

import time
from collections.abc import Callable

from lumos_queue.errors import EndpointDown
from lumos_queue.util.wording import format_limit

GIVE_UP_SECONDS = 60.0  #: without an answered item, while only a person can help
_FOR_A_PERSON = (*range(300, 406), 422)  #: statuses that do not change until a person acts


class Patience:
    """Limits the wait for an endpoint that only a person can repair. Other outages end by themselves."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._since: float | None = None  # start of the outage, or when an item was last answered

    def is_over(self, outage: EndpointDown | None, has_answers: bool) -> bool:
        """Return whether to stop waiting. `has_answers`: whether an item was answered since the last call."""
        if outage is None or outage.status not in _FOR_A_PERSON:
            self._since = None
        elif self._since is None or has_answers:
            self._since = self._clock()
        return self._since is not None and self._clock() - self._since >= GIVE_UP_SECONDS


def format_give_up(outage: EndpointDown) -> str:
    """Return the line that explains why waiting ended."""
    return f"gave up after {format_limit(GIVE_UP_SECONDS)} without an answer: {outage}"
