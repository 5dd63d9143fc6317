"""Requests to an endpoint: a place, a replica, and another try where that may help. What `tgi` and `openai` share."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from lumos_queue.endpoints.base import EndpointSettings
from lumos_queue.endpoints.http import REPLY_BYTES, Http, RequestRefused, TryFailed
from lumos_queue.endpoints.replicas import Replica, Replicas
from lumos_queue.endpoints.traffic import Traffic
from lumos_queue.errors import EndpointRefused, EpisodeError, InfrastructureError, SpecError, Undecided
from lumos_queue.records import Ending

BACKOFF_SECONDS = 30.0  #: longest wait between two tries; a server that asks for more gets its request later, not now
LOOK_SECONDS = 0.05  #: how often a refused request looks for evidence
GRACE_SECONDS = 1.5  #: when nobody else has asked for so long, a control has to give the evidence
CONTROL = "control"  #: stands for an item in the evidence of such a request

T = TypeVar("T")


class Reply(NamedTuple, Generic[T]):
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
    """The replicas of one endpoint, behind one gate. Safe to use from many coroutines of one event loop."""

    def __init__(
        self,
        url: str,
        bases: Sequence[str],
        settings: EndpointSettings,
        first_backoff: float,
        control: Callable[[], Mapping[str, Any]],
    ):
        """`control`: the body of a request that any server of this protocol takes, of one token."""
        self._control, self._controlling = control, asyncio.Lock()
        self._control_failed_at = float("-inf")
        self.traffic = Traffic(url, settings.concurrency)
        self.replicas = Replicas(Http(base, settings) for base in bases)
        self._retries = settings.request_retries
        self._request_seconds = settings.request_seconds
        self._asking = 0  #: requests under way, other than those that wait for evidence
        self._first_backoff = first_backoff  #: seconds before the second try, doubled each time

    async def post(
        self,
        path: str,
        body: Mapping[str, Any],
        read: Callable[[dict[str, Any], Mapping[str, str]], T],
        episode: str = "",
        most_bytes: int = REPLY_BYTES,
    ) -> Reply[T]:
        """POST `body` to a replica. Where another replica is well a failed try is followed at once by one there.

        Raises EndpointDown when the endpoint as a whole has failed too often or refuses everybody, InfrastructureError
        when the tries of this request are used up, and of a request that is refused (evidence.py) EpisodeError when
        that is its own fault, Undecided when nothing tells.
        """
        self._asking += 1
        try:
            return await self._post(path, body, read, episode, most_bytes)
        finally:
            self._asking -= 1

    async def _post(
        self,
        path: str,
        body: Mapping[str, Any],
        read: Callable[[dict[str, Any], Mapping[str, str]], T],
        episode: str,
        most_bytes: int,
    ) -> Reply[T]:
        item: Hashable = episode or object()
        data = json.dumps(body).encode()
        asked, first = time.perf_counter(), 0.0
        tries, refusals, failure = 0, 0, None
        while True:
            await self.traffic.enter()
            try:
                tried: list[Replica] = []
                refused: dict[Replica, RequestRefused] = {}
                while tries <= self._retries and (replica := self.replicas.choose(episode, tried)):
                    sent = time.perf_counter()
                    first = first or sent
                    try:
                        value = await self._try(replica, item, path, data, read, most_bytes, sent)
                        for other in refused:  # what another answers it has no reason to refuse
                            other.failed(time.perf_counter())
                            other.evidence.forget(item)
                        return Reply(value, time.perf_counter() - sent, first - asked, sent - first, tries + refusals)
                    except RequestRefused as error:
                        refused[replica] = error
                        refusals += 1
                    except TryFailed as error:
                        failure = error
                        tries += 1
                        if not failure.rejected:
                            self.traffic.failed(failure, sent, first, last_try=tries > self._retries)
                    tried.append(replica)
                    self.traffic.check_breaker()
            finally:
                self.traffic.leave()
            if refused:
                await self._judge(item, path, refused)
                continue
            assert failure is not None, "there is a replica for a first try"
            wait = self._wait_after(failure, tries)
            if tries > self._retries or wait > BACKOFF_SECONDS:
                raise failure
            await self.traffic.pause(wait)

    async def _try(
        self,
        replica: Replica,
        item: Hashable,
        path: str,
        data: bytes,
        read: Callable[..., T],
        most_bytes: int,
        sent: float,
    ) -> T:
        """One try at one replica, and what it teaches about the replica and the endpoint."""
        replica.take()
        vouched = replica.evidence.is_vouched(item)
        try:
            value = await replica.http.post(path, data, read, most_bytes)
        except TryFailed as error:
            now = time.perf_counter()
            if error.overloaded:
                self.traffic.refused(sent, now)
            if error.rejected:
                replica.served()
            else:
                replica.failed(now)
            if error.retry_after:
                replica.quiet(error.retry_after, now)
                if quiet := self.replicas.quiet_seconds():
                    self.traffic.quiet(quiet)
            raise
        except RequestRefused:
            now = time.perf_counter()
            replica.evidence.note_refusal(item, vouched, now)
            replica.refused(now)
            raise
        finally:
            replica.give()
        replica.served()
        replica.evidence.note_answer(item, sent)
        self.traffic.succeeded(sent, time.perf_counter())
        return value

    async def _judge(self, item: Hashable, path: str, refused: Mapping[Replica, RequestRefused]) -> None:
        """Wait for evidence about a refusal; returns when the request may be tried again, raises as `post`."""
        self._convict(item, refused)
        began = asked = time.perf_counter()  # when somebody else last asked
        self._asking -= 1
        self.traffic.suspended += 1
        try:
            while all(replica.evidence.is_open(item) for replica in refused):
                await self.traffic.pause(LOOK_SECONDS)
                now = time.perf_counter()
                asked = now if self._asking else asked
                # What was under way may take one time-out, what is sent after it another.
                if now - began >= 2 * self._request_seconds + GRACE_SECONDS:
                    self._give_up(item, refused, now)
                if now - asked >= GRACE_SECONDS and not await self._passes_control(item, path, refused):
                    self._give_up(item, refused, time.perf_counter())
        finally:
            self._asking += 1
            self.traffic.suspended -= 1
        self._convict(item, refused)

    async def _passes_control(self, item: Hashable, path: str, refused: Mapping[Replica, RequestRefused]) -> bool:
        """Whether those that refuse the item answer a request of our own, since nobody else is there to ask."""
        async with self._controlling:  # one control serves all that wait for it, whether it is answered or not
            if time.perf_counter() - self._control_failed_at < GRACE_SECONDS:
                return False
            for replica in refused:
                if not replica.evidence.is_open(item):
                    continue
                await self.traffic.enter()
                sent = time.perf_counter()
                try:
                    await replica.http.post(path, json.dumps(self._control()).encode(), lambda reply, _: reply)
                except (TryFailed, RequestRefused):
                    self._control_failed_at = time.perf_counter()
                    return False
                finally:
                    self.traffic.leave()
                replica.evidence.note_answer(CONTROL, sent)
        return True

    def _convict(self, item: Hashable, refused: Mapping[Replica, RequestRefused]) -> None:
        """Raises EpisodeError when enough speaks against the item."""
        for replica, refusal in refused.items():
            if replica.evidence.convicts(item, refusal.status):
                replica.evidence.forget(item)
                raise EpisodeError(Ending.INFRA_ERROR, str(refusal))

    def _give_up(self, item: Hashable, refused: Mapping[Replica, RequestRefused], now: float) -> None:
        """Raises Undecided, or EndpointDown when those that refuse were the last."""
        for replica in refused:
            if not replica.evidence.is_lone(item):
                replica.avoid(now)
        refusal = next(iter(refused.values()))
        if all(replica.out for replica in self.replicas.all):
            self.traffic.shut(refusal.outage, refusal.status)
            self.traffic.check_breaker()
        raise Undecided(refusal.outage, refusal.status)

    def _wait_after(self, failure: TryFailed, tries: int) -> float:
        if failure.retry_after is not None and (quiet := self.replicas.quiet_seconds()):
            return quiet
        # Half fixed, half random: clients that failed together do not come back together.
        return min(BACKOFF_SECONDS, self._first_backoff * 2 ** (tries - 1)) * random.uniform(0.5, 1.0)

    async def identity(self, describe: Callable[[Http], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
        """`describe` for a person: raises SpecError also when none answers."""
        try:
            return await self.describe(describe)
        except SpecError:
            raise
        except InfrastructureError as error:
            raise SpecError(f"Cannot use the endpoint, {error}: start the server or correct the URL.") from None

    async def describe(self, describe: Callable[[Http], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
        """What the replicas say they are; a list, in their order, where they differ.

        Those that do not answer, or with a status that is none of success, are left out for a while. Raises
        InfrastructureError when all are, EndpointRefused if one of them has answered, and SpecError when one answers
        what `describe` refuses.
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
            raise next((one for one in told if isinstance(one, EndpointRefused)), InfrastructureError(str(told[0])))
        values = {key: [one.get(key) for one in known] for one in known for key in one}
        return {key: each[0] if each == each[:1] * len(each) else each for key, each in values.items()}

    async def close(self) -> None:
        await asyncio.gather(*(replica.http.close() for replica in self.replicas.all))
