"""Control when requests of one process to an endpoint are sent: a limit, a queue, Retry-After, a circuit breaker."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from contextlib import suppress

from lumos_queue.endpoints.failed_try import TryFailed
from lumos_queue.endpoints.flights import Flights
from lumos_queue.endpoints.pace import pace_of
from lumos_queue.endpoints.traffic import Traffic
from lumos_queue.errors import EndpointDown, InfrastructureError, NotSent
from lumos_queue.util.wording import format_rough_seconds

MAX_FAILURES = 10  #: failed tries in a row at all replicas: then clients check whether the server is down
MAX_PAUSE_SECONDS = 30.0  #: the longest Retry-After for which requests wait


class AdmissionControl:
    """Controls the requests of one process to one endpoint with all its replicas.

    Only its event loop uses it, but any thread may call `set_share` and read `in_flight`, `waiting` and `share`.
    Requests get slots in the order of their calls. An open breaker stays open until the endpoint is opened anew.
    """

    def __init__(self, url: str, limit: int):
        """`limit`: the maximum number of requests in flight, even if the server has more capacity."""
        self.url = url
        self.share: int | None = None  #: most requests in flight, leased to this process; None: no cap
        self.in_flight = 0
        self._limit = limit
        self.pace = pace_of(url, limit)
        self.stated_slots: int | None = (
            None  #: requests at once that keep the servers busy, by the slots that they state
        )
        self.flights: list[Flights] = []  #: one for each server
        self._is_draining = False
        self._queue: OrderedDict[asyncio.Future[None], None] = OrderedDict()
        self._sleepers: set[asyncio.Future[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._paused_until = 0.0
        self._success_time = 0.0
        self._failures = 0  # in a row, since the latest success
        self._failure_start = 0.0
        self._latest_failure = 0.0  # first send time of the request that failed last since the latest success; 0: none
        self._has_several_failures = False  # whether more than one request has failed since the latest success
        self._outage: str | None = None
        self._outage_status = 0
        self.suspended = 0  #: refused requests that wait for evidence, without a slot

    @property
    def waiting(self) -> int:
        """The number of requests that wait for a slot."""
        return len(self._queue)

    def report(self) -> Traffic:
        """Return the traffic between this process and the endpoint. Any thread may call it."""
        now = time.perf_counter()
        return self.pace.report(
            in_flight=self.in_flight,
            waiting=self.waiting,
            late=sum(flights.late for flights in self.flights),
            oldest_seconds=max((flights.age(now) for flights in self.flights), default=0.0),
        )

    def set_stated(self, requests: int) -> None:
        """Begin with `requests` requests in flight, which keep the servers busy according to their own statement."""
        self.stated_slots = requests
        self.pace.start(requests)

    def set_bound(self, requests: int) -> None:
        """Never have more than `requests` requests in flight: the servers refuse more."""
        self._limit = min(self._limit, requests)
        self.pace.window.set_limit(self._limit)

    def drain(self) -> None:
        """Raise NotSent in requests that wait for a slot, now or from now on, because the slice ends."""
        self._is_draining = True
        _raise_in(self._queue, lambda: NotSent(_NOT_SENT.format(self.url)))

    @property
    def window(self) -> int:
        """The number of requests in flight up to which more of them are expected to help."""
        return int(self.pace.window.size)

    def set_share(self, share: int | None) -> None:
        """Have at most `share` requests in flight from now on. None: no cap; 0: all wait. Any thread may call it."""
        self.share = share
        loop = self._loop
        if loop is not None:
            with suppress(RuntimeError):  # a closed loop has no waiting requests
                loop.call_soon_threadsafe(self._admit)

    async def enter(self) -> None:
        """Wait for a slot. The caller returns the slot with `leave`.

        Raises EndpointDown when the breaker is open or opens during the wait, InfrastructureError when the server
        requests a long pause, and NotSent when the slice ends.
        """
        self.check_breaker()
        self._check_pause()
        if not self._queue and self._has_slot():
            self.in_flight += 1
            return
        if self._is_draining:
            raise NotSent(_NOT_SENT.format(self.url))
        self._loop = asyncio.get_running_loop()
        slot = self._loop.create_future()
        self._queue[slot] = None
        try:
            await slot
        except BaseException:
            if slot.done() and not slot.cancelled() and slot.exception() is None:
                self.leave()  # the wait was cancelled just after the slot was assigned
            else:
                self._queue.pop(slot, None)
            raise

    def leave(self) -> None:
        self.in_flight -= 1
        self._admit()

    async def sleep(self, seconds: float) -> None:
        """Wait for some seconds between two tries, without a slot. Raises EndpointDown when the breaker opens."""
        self.check_breaker()
        loop = asyncio.get_running_loop()
        end = loop.create_future()
        timer = loop.call_later(seconds, _finish, end)
        self._sleepers.add(end)
        try:
            await end
        finally:
            timer.cancel()
            self._sleepers.discard(end)

    def pause_for(self, seconds: float) -> None:
        """Send nothing for this many seconds, because the server has sent Retry-After."""
        until = time.perf_counter() + seconds
        if until <= self._paused_until:
            return
        self._paused_until = until
        asyncio.get_running_loop().call_later(seconds + 0.001, self._admit)
        if seconds > MAX_PAUSE_SECONDS:
            _raise_in(
                self._queue,
                lambda: InfrastructureError(_LONG_PAUSE.format(self.url, format_rough_seconds(seconds)), seconds),
            )

    def check_breaker(self) -> None:
        """Raise EndpointDown if the breaker is open."""
        if self._outage is not None:
            raise EndpointDown(self._outage, status=self._outage_status)

    def open_breaker(self, message: str, status: int) -> None:
        """Raise EndpointDown with this message in all waiting requests, and in all later requests."""
        if self._outage is None:
            self._outage, self._outage_status = message, status
            _raise_in(self._queue, lambda: EndpointDown(message, status=status))
            _raise_in(self._sleepers, lambda: EndpointDown(message, status=status))

    def note_answer(self, now: float) -> None:
        """Note that a replica has served a request."""
        self._failures, self._latest_failure, self._has_several_failures, self._success_time = 0, 0.0, False, now

    def note_success(self, send_time: float, now: float) -> None:
        """Note that a replica has served a request of an episode, sent at `send_time`."""
        self.note_answer(now)
        if self.pace.note_reply(send_time, now):
            self._admit()

    def note_overload(self, send_time: float, now: float) -> None:
        """Note that a replica had no capacity for a request."""
        self.pace.window.note_overload(send_time, now, self.in_flight)

    def note_late(self) -> None:
        """Note that a request is late: more requests at once would not help."""
        self.pace.window.note_late()

    def note_failure(self, failure: TryFailed, send_time: float, first_send_time: float, is_last_try: bool) -> None:
        """Note a failed try, other than a 429. `first_send_time`: of the first try of its request, which it identifies.

        After enough failures of connecting, the breaker opens; evidence.py finds the cause of other failures. When a
        server restarts, all requests in flight break at once: they count as one failure.
        """
        if self._failures and failure.cause == "broken" and send_time < self._failure_start:
            return
        if not self._failures:
            self._failure_start = time.perf_counter()
        self._failures += 1
        self._has_several_failures = self._has_several_failures or self._latest_failure not in (0.0, first_send_time)
        self._latest_failure = first_send_time
        has_failed_often = self._failures >= MAX_FAILURES or (is_last_try and first_send_time > self._success_time)
        if has_failed_often and failure.cause == "unreachable":
            tries = f"{self._failures} tries in a row" if self._failures > 1 else "the only try"
            self.open_breaker(f"{self.url} is down, {tries} failed; the last: {failure}", failure.status)
            for flights in self.flights:
                flights.cancel("the server cannot be reached")

    @property
    def is_failing(self) -> bool:
        """Whether so many tries of several requests have failed in a row that the server may be down."""
        return self._has_several_failures and self._failures >= MAX_FAILURES

    def _has_slot(self) -> bool:
        limit = self._limit if self.share is None else min(self._limit, self.share)
        size = int(self.pace.window.size)
        if self.in_flight >= min(limit, size):
            if size <= limit:
                self.pace.window.note_full()
            return False
        return not (self._paused_until and time.perf_counter() < self._paused_until)

    def _admit(self) -> None:
        while self._queue and self._has_slot():
            slot, _ = self._queue.popitem(last=False)
            if not slot.done():
                self.in_flight += 1
                slot.set_result(None)

    def _check_pause(self) -> None:
        if self._paused_until and (pause := self._paused_until - time.perf_counter()) > MAX_PAUSE_SECONDS:
            raise InfrastructureError(_LONG_PAUSE.format(self.url, format_rough_seconds(pause)), pause)


_NOT_SENT = "{}: the slice has ended before the request was sent"
_LONG_PAUSE = "{} has asked to be left alone for {}"


def _raise_in(futures: Iterable[asyncio.Future[None]], error: Callable[[], InfrastructureError]) -> None:
    """Set a separate error in each future: an exception collects the traceback of the task that raises it."""
    for future in futures:
        if not future.done():
            future.set_exception(error())


def _finish(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
