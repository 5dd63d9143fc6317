"""Requests to an endpoint of several replicas: a slot, a replica, and another try where that may help."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import orjson

from lumos_queue.endpoints.admission import AdmissionControl
from lumos_queue.endpoints.base import EndpointSettings
from lumos_queue.endpoints.failed_try import TryFailed
from lumos_queue.endpoints.failure_cause import Judge
from lumos_queue.endpoints.flights import Flights
from lumos_queue.endpoints.http import REPLY_BYTES, Http, RequestRefused
from lumos_queue.endpoints.replicas import Replica, Replicas
from lumos_queue.errors import (
    EndpointNotReady,
    EndpointRefused,
    EpisodeError,
    InfrastructureError,
    RowFailed,
    SpecError,
)
from lumos_queue.records import Ending

MAX_BACKOFF_SECONDS = 30.0  #: between two tries; if a server asks for more, its request fails and is owed again
NO_WAIT = 1e-4  #: seconds: less is no waiting, but what it takes to see that there is a slot; stored as 0
SPARE = 1.25  #: requests for each slot that a server states

T = TypeVar("T")


class TimedReply(NamedTuple, Generic[T]):
    """What a reader made of a reply, and where the time went: `waited` + `lost` + `seconds` is all of it."""

    value: T
    seconds: float  #: from sending the try that succeeded
    waited: float  #: before the first try was sent
    lost: float  #: on tries that failed and the pauses after them
    retries: int

    @property
    def cost(self) -> dict[str, Any]:
        """The four by name, as `replies.completion` takes them."""
        return {"seconds": self.seconds, "waited": self.waited, "lost": self.lost, "retries": self.retries}


class Client:
    """The replicas of one endpoint under one admission control. Safe to use from many coroutines of one event loop."""

    def __init__(
        self,
        url: str,
        servers: Iterable[Http],
        settings: EndpointSettings,
        first_backoff: float,
        make_control: Callable[[], Mapping[str, Any]],
        read_control: Callable[[dict[str, Any], Mapping[str, str]], object],
    ):
        """`make_control`: the body of a request that any server of this protocol takes, of one token. `read_control`
        raises Malformed when its reply has no text.
        """
        self.admission = AdmissionControl(url, settings.concurrency)
        self._slots: dict[Http, int] = {}  # that servers state
        self.replicas = Replicas(self._make_replica(server, settings) for server in servers)
        self._judge = Judge(url, self.admission, self.replicas, make_control, read_control)
        self._retries = settings.request_retries
        self._first_backoff = first_backoff  #: seconds before the second try, doubled each time

    def _make_replica(self, server: Http, settings: EndpointSettings) -> Replica:
        admission = self.admission
        flights = Flights(
            settings.request_seconds,
            settings.silence_seconds,
            lambda: admission.window,
            server.is_alive,
            admission.note_late,
        )
        admission.flights.append(flights)
        return Replica(server, flights)

    async def post(
        self,
        path: str,
        body: Mapping[str, Any],
        read: Callable[[dict[str, Any], Mapping[str, str]], T],
        episode: str = "",
        max_bytes: int = REPLY_BYTES,
    ) -> TimedReply[T]:
        """POST `body` to a replica. A failed try is followed at once by one at another replica, if one is healthy.

        Raises EndpointDown when the endpoint cannot be reached, or fails or refuses all requests, InfrastructureError
        when the tries of this request are used up, ContextFull when the prompt is too long, and, of a request that the
        server answers otherwise, EpisodeError when it is refused and RowFailed when it fails through its own fault,
        Undecided when nothing tells whose fault it is (evidence.py).
        """
        item: Hashable = episode or object()
        data = orjson.dumps(body)
        asked, first = time.perf_counter(), 0.0
        tries, refusals, failure = 0, 0, None
        left, is_judged = 1 + self._retries, False
        while True:
            await self.admission.enter()
            try:
                tried: list[Replica] = []
                refused: dict[Replica, RequestRefused] = {}
                failed: dict[Replica, TryFailed] = {}
                while left > 0 and (replica := self.replicas.choose(episode, tried)):
                    sent = time.perf_counter()
                    first = first or sent
                    try:
                        value = await self._try(replica, item, path, data, read, max_bytes, sent)
                        for other in refused:  # what another answers it has no reason to refuse
                            other.note_failure(time.perf_counter())
                            other.evidence.forget(item)
                        waited = first - asked if first - asked >= NO_WAIT else 0.0
                        return TimedReply(value, time.perf_counter() - sent, waited, sent - first, tries + refusals)
                    except RequestRefused as error:
                        refused[replica] = error
                        refusals += 1
                    except TryFailed as error:
                        failure = error
                        tries += 1
                        left = min(left - 1, 1) if error.is_late else left - 1  # one more at most if it has taken long
                        if error.is_answered or error.is_late:
                            failed[replica] = error
                            replica.evidence.note_failure(item, time.perf_counter())
                        if not (error.rejected or error.is_late):
                            self.admission.note_failure(error, sent, first, last_try=left <= 0)
                    tried.append(replica)
                    self.admission.check_breaker()
            finally:
                self.admission.leave()
            if refused:
                self._raise_if_blamed(item, refused)
                await self._judge.wait_for_evidence(item, path, refused)
                self._raise_if_blamed(item, refused)
                continue
            assert failure is not None, "there is a replica for a first try"
            if failed and is_judged and failure.retry_after is None:
                raise RowFailed(str(failure))
            if failed and not is_judged and (left <= 1 or self.admission.is_failing):
                await self._judge.wait_for_evidence(item, path, failed)
                if left <= 1:  # the last try: the server may have been down until now
                    left, is_judged = 1, True
                    continue
            wait = self._wait_after(failure, tries)
            if left <= 0 or wait > MAX_BACKOFF_SECONDS:
                raise failure
            await self.admission.sleep(wait)

    async def _try(
        self,
        replica: Replica,
        item: Hashable,
        path: str,
        data: bytes,
        read: Callable[..., T],
        max_bytes: int,
        sent: float,
    ) -> T:
        """One try at one replica, and what it teaches about the replica and the endpoint."""
        replica.begin()
        served = replica.evidence.is_serving_others(item)
        try:
            value = await replica.send(path, data, read, max_bytes)
        except TryFailed as error:
            now = time.perf_counter()
            if error.overloaded:
                self.admission.note_overload(sent, now)
            if error.rejected:
                replica.note_success()
            else:
                replica.note_failure(now)
            if error.retry_after:
                replica.pause_for(error.retry_after, now)
                if pause := self.replicas.pause_seconds():
                    self.admission.pause_for(pause)
            raise
        except RequestRefused:
            now = time.perf_counter()
            replica.evidence.note_refusal(item, served, now)
            replica.note_refusal(now)
            raise
        except EpisodeError:  # its answer, and no evidence for or against others
            replica.note_success()
            replica.evidence.forget(item)
            self.admission.note_success(sent, time.perf_counter())
            raise
        finally:
            replica.end()
        replica.flights.note_answer(sent, time.perf_counter())
        replica.note_success()
        replica.evidence.note_answer(item, sent)
        self.admission.note_success(sent, time.perf_counter())
        return value

    def _raise_if_blamed(self, item: Hashable, refused: Mapping[Replica, RequestRefused]) -> None:
        """Raises EpisodeError when enough speaks against the item."""
        for replica, refusal in refused.items():
            if replica.evidence.blames(item, refusal.status):
                replica.evidence.forget(item)
                raise EpisodeError(Ending.INFRA_ERROR, str(refusal))

    def _wait_after(self, failure: TryFailed, tries: int) -> float:
        if failure.retry_after is not None and (pause := self.replicas.pause_seconds()):
            return pause
        # Half fixed, half random: clients that failed together do not come back together.
        return min(MAX_BACKOFF_SECONDS, self._first_backoff * 2 ** (tries - 1)) * random.uniform(0.5, 1.0)

    def note_slots(self, server: Http, slots: int) -> None:
        """A server states that it serves so many requests at once.

        A quarter more keeps it busy while replies travel. Where all replicas have said so the sum is known.
        """
        self._slots[server] = slots
        if len(self._slots) == len(self.replicas.all):
            self.admission.set_stated(sum(math.ceil(SPARE * slots) for slots in self._slots.values()))

    async def identity(self, describe: Callable[[Http], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
        """`describe` for a person: raises SpecError also when none answers, EndpointNotReady when none is ready."""
        try:
            return await self.describe(describe)
        except SpecError:
            raise
        except InfrastructureError as error:
            raise SpecError(f"Cannot use the endpoint, {error}: start the server or correct the URL.") from None

    async def describe(self, describe: Callable[[Http], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
        """What the replicas say they are; a list, in their order, where they differ.

        Those that do not answer, or not with a status of success, are left out for a while. Raises
        InfrastructureError when all are, EndpointNotReady if one of them is not ready yet, else EndpointRefused if one
        has answered, and SpecError when one gives an answer that `describe` refuses.
        """
        told = await asyncio.gather(*(describe(replica.http) for replica in self.replicas.all), return_exceptions=True)
        known: list[dict[str, Any]] = []
        for replica, one in zip(self.replicas.all, told, strict=True):
            if isinstance(one, InfrastructureError):
                replica.leave_out(time.perf_counter())
            elif isinstance(one, BaseException):
                raise one
            else:
                known.append(one)
        if not known:
            raise _most_telling([error for error in told if isinstance(error, InfrastructureError)])
        values = {key: [one.get(key) for one in known] for one in known for key in one}
        return {key: each[0] if each == each[:1] * len(each) else each for key, each in values.items()}

    async def close(self) -> None:
        for replica in self.replicas.all:
            replica.flights.close()
        await asyncio.gather(*(replica.http.close() for replica in self.replicas.all))


def _most_telling(errors: Sequence[InfrastructureError]) -> InfrastructureError:
    """What to say of an endpoint whose replicas all fail: that one is loading, else what one of them answers."""
    for kind in (EndpointNotReady, EndpointRefused):
        for error in errors:
            if isinstance(error, kind):
                return error
    return InfrastructureError(str(errors[0]))
