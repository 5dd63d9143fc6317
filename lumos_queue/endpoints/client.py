"""Send requests to an endpoint of several replicas: wait for a slot, choose a replica, and retry."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, TypedDict, TypeVar

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
from lumos_queue.records import Ending, Json, JsonObject

MAX_BACKOFF_SECONDS = (
    30.0  #: between two tries; if a server requests a longer pause, the request fails and will be retried later
)
NO_WAIT = 1e-4  #: seconds: a shorter wait is the time of the check for a slot, and is stored as 0
SPARE = 1.25  #: requests for each slot that a server states

T = TypeVar("T")


class Cost(TypedDict):
    """The times of a reply in seconds, and its retries."""

    seconds: float
    waited: float
    lost: float
    retries: int


class TimedReply(NamedTuple, Generic[T]):
    """The value that was read from a reply, and times in seconds: `waited` + `lost` + `seconds` is the whole time."""

    value: T
    seconds: float  #: since the successful try was sent
    waited: float  #: before the first try was sent
    lost: float  #: on tries that failed and the pauses after them
    retries: int

    @property
    def cost(self) -> Cost:
        """The times and the number of retries by name, for `replies.completion`."""
        return {"seconds": self.seconds, "waited": self.waited, "lost": self.lost, "retries": self.retries}


class Client:
    """The replicas of one endpoint under one admission control. Safe to use from many coroutines of one event loop."""

    def __init__(
        self,
        url: str,
        servers: Iterable[Http],
        settings: EndpointSettings,
        first_backoff: float,
        make_control: Callable[[], JsonObject],
        read_control: Callable[[JsonObject, Mapping[str, str]], object],
    ):
        """`make_control`: returns the body of a request for one token that any server of this protocol accepts.
        `read_control`: reads the reply to that request, and raises Malformed when it has no text.
        """
        self.admission = AdmissionControl(url, settings.concurrency)
        self._slots: dict[Http, int] = {}  # slots that servers state
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
        body: JsonObject,
        read: Callable[[JsonObject, Mapping[str, str]], T],
        episode: str = "",
        max_bytes: int = REPLY_BYTES,
    ) -> TimedReply[T]:
        """POST `body` to a replica. After a failed try, try another healthy replica at once.

        Raises EndpointDown when the endpoint cannot be reached, or fails or refuses all requests; InfrastructureError
        when the tries of this request are used up; and ContextFull when the prompt is too long. If the server answers
        other requests, raises EpisodeError when it refuses this request, and RowFailed when this request fails. Raises
        UnclearFailure when the cause is unknown (evidence.py).
        """
        item: Hashable = episode or object()
        data = orjson.dumps(body)
        request_time, first_send_time = time.perf_counter(), 0.0
        tries, refusal_count, failure = 0, 0, None
        remaining_tries, is_judged = 1 + self._retries, False
        while True:
            await self.admission.enter()
            try:
                tried_replicas: list[Replica] = []
                refusals_by_replica: dict[Replica, RequestRefused] = {}
                failures_by_replica: dict[Replica, TryFailed] = {}
                while remaining_tries > 0 and (replica := self.replicas.choose(episode, tried_replicas)):
                    send_time = time.perf_counter()
                    first_send_time = first_send_time or send_time
                    try:
                        value = await self._try(replica, item, path, data, read, max_bytes, send_time)
                        for (
                            refusing_replica
                        ) in refusals_by_replica:  # another replica has answered, so the refusal was wrong
                            refusing_replica.note_failure(time.perf_counter())
                            refusing_replica.evidence.forget(item)
                        wait_seconds = (
                            first_send_time - request_time if first_send_time - request_time >= NO_WAIT else 0.0
                        )
                        return TimedReply(
                            value,
                            time.perf_counter() - send_time,
                            wait_seconds,
                            send_time - first_send_time,
                            tries + refusal_count,
                        )
                    except RequestRefused as error:
                        refusals_by_replica[replica] = error
                        refusal_count += 1
                    except TryFailed as error:
                        failure = error
                        tries += 1
                        remaining_tries = (
                            min(remaining_tries - 1, 1) if error.is_late else remaining_tries - 1
                        )  # at most one more try after a long one
                        if error.is_answered or error.is_late:
                            failures_by_replica[replica] = error
                            replica.evidence.note_failure(item, time.perf_counter())
                        if not (error.rejected or error.is_late):
                            self.admission.note_failure(
                                error, send_time, first_send_time, is_last_try=remaining_tries <= 0
                            )
                    tried_replicas.append(replica)
                    self.admission.check_breaker()
            finally:
                self.admission.leave()
            if refusals_by_replica:
                self._raise_if_blamed(item, refusals_by_replica)
                await self._judge.wait_for_evidence(item, path, refusals_by_replica)
                self._raise_if_blamed(item, refusals_by_replica)
                continue
            assert failure is not None, "there is a replica for a first try"
            if failures_by_replica and is_judged and failure.retry_after is None:
                raise RowFailed(str(failure))
            if failures_by_replica and not is_judged and (remaining_tries <= 1 or self.admission.is_failing):
                await self._judge.wait_for_evidence(item, path, failures_by_replica)
                if remaining_tries <= 1:  # the last try: the server may have been down until now
                    remaining_tries, is_judged = 1, True
                    continue
            wait = self._wait_after(failure, tries)
            if remaining_tries <= 0 or wait > MAX_BACKOFF_SECONDS:
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
        send_time: float,
    ) -> T:
        """Try a request at one replica, and note the outcome in the replica and the endpoint."""
        replica.begin()
        serves_others = replica.evidence.is_serving_others(item)
        try:
            value = await replica.send(path, data, read, max_bytes)
        except TryFailed as error:
            now = time.perf_counter()
            if error.overloaded:
                self.admission.note_overload(send_time, now)
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
            replica.evidence.note_refusal(item, serves_others, now)
            replica.note_refusal(now)
            raise
        except EpisodeError:  # an answer to this request, and no evidence about others
            replica.note_success()
            replica.evidence.forget(item)
            self.admission.note_success(send_time, time.perf_counter())
            raise
        finally:
            replica.end()
        replica.flights.note_answer(send_time, time.perf_counter())
        replica.note_success()
        replica.evidence.note_answer(item, send_time)
        self.admission.note_success(send_time, time.perf_counter())
        return value

    def _raise_if_blamed(self, item: Hashable, refusals: Mapping[Replica, RequestRefused]) -> None:
        """Raise EpisodeError if there is enough evidence that the item is at fault."""
        for replica, refusal in refusals.items():
            if replica.evidence.blames(item, refusal.status):
                replica.evidence.forget(item)
                raise EpisodeError(Ending.INFRA_ERROR, str(refusal))

    def _wait_after(self, failure: TryFailed, tries: int) -> float:
        if failure.retry_after is not None and (pause := self.replicas.pause_seconds()):
            return pause
        # Half fixed, half random: clients that failed together should not retry together.
        return min(MAX_BACKOFF_SECONDS, self._first_backoff * 2 ** (tries - 1)) * random.uniform(0.5, 1.0)

    def note_slots(self, server: Http, slots: int) -> None:
        """Note how many requests a server serves at once according to its own statement.

        A quarter more keeps servers busy while replies are in transit. The sum is set once all replicas have a number.
        """
        self._slots[server] = slots
        if len(self._slots) == len(self.replicas.all):
            self.admission.set_stated(sum(math.ceil(SPARE * slots) for slots in self._slots.values()))

    async def identity(self, describe: Callable[[Http], Awaitable[dict[str, Json]]]) -> dict[str, Json]:
        """Return the result of `self.describe`, and raise its errors with messages for people.

        Raises SpecError also when no replica answers, and EndpointNotReady when none is ready.
        """
        try:
            return await self.describe(describe)
        except SpecError:
            raise
        except InfrastructureError as error:
            raise SpecError(f"Cannot use the endpoint, {error}: start the server or correct the URL.") from None

    async def describe(self, describe: Callable[[Http], Awaitable[dict[str, Json]]]) -> dict[str, Json]:
        """Return the replicas' descriptions as one. If they differ in a value, it is a list in the replicas' order.

        Replicas without a successful answer are left out for a while. If all are, raises EndpointNotReady if a replica
        is not ready yet, else EndpointRefused if a replica has answered, else InfrastructureError. Raises SpecError for
        an answer that `describe` refuses.
        """
        descriptions = await asyncio.gather(
            *(describe(replica.http) for replica in self.replicas.all), return_exceptions=True
        )
        identities: list[dict[str, Json]] = []
        for replica, description in zip(self.replicas.all, descriptions, strict=True):
            if isinstance(description, InfrastructureError):
                replica.leave_out(time.perf_counter())
            elif isinstance(description, BaseException):
                raise description
            else:
                identities.append(description)
        if not identities:
            raise _most_telling([error for error in descriptions if isinstance(error, InfrastructureError)])
        values_by_name = {
            key: [identity.get(key) for identity in identities] for identity in identities for key in identity
        }
        return {
            key: values[0] if values == values[:1] * len(values) else values for key, values in values_by_name.items()
        }

    async def close(self) -> None:
        for replica in self.replicas.all:
            replica.flights.close()
        await asyncio.gather(*(replica.http.close() for replica in self.replicas.all))


def _most_telling(errors: Sequence[InfrastructureError]) -> InfrastructureError:
    """Return the error to report if all replicas fail: that one is loading, else that one refused, else the first."""
    for kind in (EndpointNotReady, EndpointRefused):
        for error in errors:
            if isinstance(error, kind):
                return error
    return InfrastructureError(str(errors[0]))
