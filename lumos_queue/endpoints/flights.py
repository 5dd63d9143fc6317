"""Watch the requests in flight at one server. Late requests are mostly not cancelled: slow servers answer in the end.

A request is late when it takes longer than `LUMOS_REQUEST_SECONDS`. A second request would make a slow server slower,
and would waste its computation so far. So a late request is cancelled only

- when the server seems to be gone: three requests for its health in a row, on separate connections, got no answer.
  Any answer of HTTP counts, also 503;
- when later requests overtook it: as many as the window has slots were answered, and it has taken four times as long as
  the slowest of them. Servers and proxies sometimes lose requests;
- when the server has answered no request for `LUMOS_SILENCE_SECONDS`.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable

from lumos_queue.util.wording import format_limit, format_rough_seconds

HEALTH_SECONDS = 15.0  #: between two requests for the health of a server that is late
MAX_UNANSWERED = 3  #: requests for its health in a row without an answer: the server is gone
OVERTAKEN = 4.0  #: times as long as the slowest request that overtook it
LOOK_SECONDS = 1.0  #: between two checks of late requests
ANSWERS = 1024  #: that are remembered, to find overtaken requests


class Flight:
    """A request in flight. The task that creates this object sends the request and waits for the reply."""

    __slots__ = ("is_gone", "late", "reason", "sent", "task")

    def __init__(self, send_time: float):
        self.sent = send_time  #: time.perf_counter
        self.task = asyncio.current_task()
        self.late = False
        self.reason = ""  #: why it was cancelled
        self.is_gone = False  #: whether it was cancelled because the server seems to be gone

    def cancel(self, reason: str, is_gone: bool = False) -> None:
        """Raise CancelledError in the task, which calls `take_back` before it continues."""
        if not self.reason and self.task:
            self.reason, self.is_gone = reason, is_gone
            self.task.cancel()

    def take_back(self) -> bool:
        """Undo `cancel`. Return whether the task may continue, because only `cancel` had cancelled it."""
        return bool(self.reason and self.task and self.task.uncancel() == 0)


class Flights:
    """The requests in flight at one server, from one event loop. Times are from time.perf_counter."""

    def __init__(
        self,
        late_seconds: float,
        silence_seconds: float,
        window: Callable[[], int],
        check_health: Callable[[], Awaitable[bool]],
        on_late: Callable[[], None],
    ):
        """`check_health`: returns whether the server answers a request for its health, with any status.

        `on_late`: is called repeatedly while a request is late.
        """
        self._late_seconds, self._silence_seconds = late_seconds, silence_seconds
        self._window, self._check_health, self._on_late = window, check_health, on_late
        self._flights: dict[Flight, None] = {}  # in the order of sending
        self._answers: deque[tuple[float, float]] = deque(maxlen=ANSWERS)  # send time and seconds
        self._answer_time = float("-inf")
        self._timer: asyncio.TimerHandle | None = None
        self._health_task: asyncio.Task[None] | None = None
        self._health_time = float("-inf")
        self._unanswered_count = 0
        self._unanswered_since = 0.0

    @property
    def late(self) -> int:
        """Number of requests that are late. Any thread may read it."""
        return sum(flight.late for flight in list(self._flights))

    @property
    def is_answering(self) -> bool:
        """Whether a request is in flight that is not late, so that an answer can be expected."""
        return any(not flight.late for flight in self._flights)

    def age(self, now: float) -> float:
        """Return the seconds since the oldest request was sent, or 0 if none is in flight. Any thread may call it."""
        flights = list(self._flights)
        return max(0.0, now - flights[0].sent) if flights else 0.0

    def begin(self, send_time: float) -> Flight:
        """Note that a request is being sent."""
        flight = Flight(send_time)
        self._flights[flight] = None
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._late_seconds, self._look)
        return flight

    def end(self, flight: Flight) -> None:
        """Note the end of a request, with or without an answer."""
        del self._flights[flight]

    def cancel(self, reason: str) -> None:
        """Cancel all requests, because the server cannot be reached."""
        for flight in self._flights:
            flight.cancel(reason, is_gone=True)

    def note_answer(self, send_time: float, now: float) -> None:
        """Note that the server answered a request that was sent at `send_time`."""
        self._answer_time = now
        self._answers.append((send_time, now - send_time))

    def close(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None
        if self._health_task:
            self._health_task.cancel()

    def _look(self) -> None:
        """Find late requests, and cancel those that will not be answered."""
        self._timer = None
        if not self._flights:
            self._unanswered_count = 0
            return
        now = time.perf_counter()
        for flight in self._flights:
            flight.late = now - flight.sent >= self._late_seconds
        late = [flight for flight in self._flights if flight.late]
        if late:
            self._on_late()
            self._cancel_hopeless(late, now)
            self._request_health(now)
            wait = min(LOOK_SECONDS, self._late_seconds)
        else:
            self._unanswered_count = 0
            wait = self._late_seconds - self.age(now)
        self._timer = asyncio.get_running_loop().call_later(wait, self._look)

    def _cancel_hopeless(self, late: list[Flight], now: float) -> None:
        for flight in late:
            age = now - flight.sent
            later = [seconds for send_time, seconds in self._answers if send_time > flight.sent]
            if len(later) >= self._window() and age > OVERTAKEN * max(later):
                flight.cancel(
                    f"no answer in {format_rough_seconds(age)}, while {len(later)} later requests were answered"
                )
            elif age > self._silence_seconds and now - self._answer_time > self._silence_seconds:
                flight.cancel(f"the server has answered nothing for {format_limit(self._silence_seconds)}")

    def _request_health(self, now: float) -> None:
        if now - self._health_time >= HEALTH_SECONDS and (self._health_task is None or self._health_task.done()):
            self._health_time = now
            self._health_task = asyncio.get_running_loop().create_task(self._note_health())

    async def _note_health(self) -> None:
        start = time.perf_counter()
        if await self._check_health():
            self._unanswered_count = 0
            return
        self._unanswered_since = self._unanswered_since if self._unanswered_count else start
        self._unanswered_count += 1
        if self._unanswered_count >= MAX_UNANSWERED:
            self._unanswered_count = 0
            reason = f"no answer, and none to {MAX_UNANSWERED} requests for its health"
            for flight in self._flights:
                if flight.sent <= self._unanswered_since:
                    flight.cancel(reason, is_gone=True)
