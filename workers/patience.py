"""How long somebody who waits for a job waits for an endpoint that only a person can put right."""

from __future__ import annotations

import time
from collections.abc import Callable

from lumos_queue.errors import EndpointDown

GIVE_UP_SECONDS = 60.0  #: without an answered item, while only a person can help
_FOR_A_PERSON = (*range(300, 406), 422)  #: statuses that do not change until a person acts


class Patience:
    """How long to wait for an endpoint whose answers only a person can change. Other outages end by themselves."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._since: float | None = None  # start of the outage, or when an item was last answered

    def is_over(self, outage: EndpointDown | None, has_answers: bool) -> bool:
        """Whether to give up. `outage`: the current one; `answered`: whether an item was, since the last call."""
        if outage is None or outage.status not in _FOR_A_PERSON:
            self._since = None
        elif self._since is None or has_answers:
            self._since = self._clock()
        return self._since is not None and self._clock() - self._since >= GIVE_UP_SECONDS


def format_give_up(outage: EndpointDown) -> str:
    """The line that says why waiting was given up."""
    return f"gave up after {GIVE_UP_SECONDS:.0f} s without an answer: {outage}"
