"""Choose one of several servers of a model for a request, by the episode, the load, health and Retry-After.

The requests of an episode share a long prefix, which a server caches, so they go to the same replica: the replica with
the highest hash of episode and address (D. Thaler, C. Ravishankar: A Name-Based Mapping Scheme for Rendezvous, 1996),
unless it is clearly busier than the others (V. Mirrokni et al.: Consistent Hashing with Bounded Loads, 2016). A replica
that fails several times in a row is left out; after a pause one request tries it again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from hashlib import blake2b
from typing import TypeVar

from lumos_queue.endpoints.evidence import Evidence
from lumos_queue.endpoints.failed_try import TryFailed
from lumos_queue.endpoints.flights import Flights
from lumos_queue.endpoints.http import REPLY_BYTES, Http
from lumos_queue.records import JsonObject

MAX_FAILURES = 3  #: failures in a row after which a replica is left out
PAUSE_SECONDS = 1.0  #: before it is tried again, doubled after each failure
MAX_PAUSE_SECONDS = 60.0
T = TypeVar("T")
BUSIER = 1.25  #: a replica with more than this times the mean number in flight, plus one, is clearly busier


class Replica:
    """One server, with its own connections. Times are from time.perf_counter."""

    def __init__(self, http: Http, flights: Flights):
        self.http = http
        self.flights = flights
        self.evidence = Evidence()  #: about the causes of its refusals
        self.in_flight = 0
        self._failures = 0
        self._pause = 0.0  #: seconds for which it is left out; 0: healthy
        self._out_until = 0.0
        self._is_probing = False  #: whether a request is testing its health
        self._retry_after = 0.0

    def is_usable(self, now: float) -> bool:
        if self._pause and (now < self._out_until or self._is_probing):
            return False
        return now >= self._retry_after

    @property
    def out(self) -> bool:
        """Whether the replica is left out, or a request is testing its health."""
        return self._pause > 0

    @property
    def returns_at(self) -> float:
        return max(self._out_until, self._retry_after)

    def begin(self) -> Replica:
        """Note the start of a request."""
        self.in_flight += 1
        self._is_probing = self.out
        return self

    def end(self) -> None:
        """Note the end of a request."""
        self.in_flight -= 1
        if not self.in_flight:
            self._is_probing = False  # a probe that was cancelled

    async def send(
        self,
        path: str,
        data: bytes,
        read: Callable[[JsonObject, Mapping[str, str]], T],
        max_bytes: int = REPLY_BYTES,
    ) -> T:
        """POST `data` and return the result of `read` for the reply.

        Raises the errors of `Http.post`, and TryFailed when flights.py has cancelled the request.
        """
        flight = self.flights.begin(time.perf_counter())
        try:
            return await self.http.post(path, data, read, max_bytes)
        except asyncio.CancelledError:
            if not flight.take_back():
                raise
            cause = "unreachable" if flight.is_gone else "late"
            raise TryFailed(f"{self.http.base}{path}: {flight.reason}", cause=cause) from None
        finally:
            self.flights.end(flight)

    def note_success(self) -> None:
        self._failures, self._pause, self._is_probing = 0, 0.0, False

    def note_failure(self, now: float) -> None:
        self._failures += 1
        if self._failures >= MAX_FAILURES and now >= self._out_until:
            self.leave_out(now)

    def note_refusal(self, now: float) -> None:
        """Note a refused request: a replica that is left out stays out. A healthy replica stays in use."""
        if self.out:
            self.avoid(now)

    def avoid(self, now: float) -> None:
        """Leave the replica out for a pause, unless it is already left out."""
        if now >= self._out_until:
            self.leave_out(now)

    def leave_out(self, now: float) -> None:
        self._pause = min(2 * self._pause or PAUSE_SECONDS, MAX_PAUSE_SECONDS)
        self._out_until, self._is_probing = now + self._pause, False
        self._failures = max(self._failures, MAX_FAILURES)  # the next failure, the probe's, leaves it out again

    def pause_for(self, seconds: float, now: float) -> None:
        """Send the replica no requests for this many seconds, because it has sent Retry-After."""
        self._retry_after = max(self._retry_after, now + seconds)

    def pause_seconds(self, now: float) -> float:
        """Return how many seconds of the replica's Retry-After remain; 0 if none."""
        return max(0.0, self._retry_after - now)


class Replicas:
    """The replicas of one endpoint. There is at least one."""

    def __init__(self, replicas: Iterable[Replica]):
        self.all = list(replicas)

    def choose(self, episode: str, tried_replicas: Collection[Replica] = ()) -> Replica | None:
        """Return a replica for a request of this episode, other than the tried replicas, or None if there is none.

        If all replicas are left out, return the first that will be back in use, so that a request reports the failure.
        """
        if len(self.all) == 1:
            return None if tried_replicas else self.all[0]
        now = time.perf_counter()
        usable = [replica for replica in self.all if replica not in tried_replicas and replica.is_usable(now)]
        if not usable:
            return None if tried_replicas else min(self.all, key=lambda replica: replica.returns_at)
        for replica in usable:
            if replica.out:
                return replica
        least = min(usable, key=lambda replica: replica.in_flight)
        if not episode:
            return least
        home = max(usable, key=lambda replica: _weight(episode, replica.http.base))
        limit = BUSIER * sum(replica.in_flight for replica in usable) / len(usable) + 1
        return home if home.in_flight <= limit else least

    def pause_seconds(self) -> float:
        """Return for how many seconds all healthy replicas have requested a pause by Retry-After."""
        now = time.perf_counter()
        healthy = [replica for replica in self.all if not replica.out] or self.all
        return min(replica.pause_seconds(now) for replica in healthy)


def _weight(episode: str, base: str) -> bytes:
    return blake2b(f"{base} {episode}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
