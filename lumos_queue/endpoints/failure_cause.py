"""Wait for evidence whether a failed request is the fault of its row or of the server.

evidence.py has the rules. While other requests are in flight at the server and not late, the judge waits for their
answers. When there are no such requests, the judge sends a control: a request of this client for one token.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping

import orjson

from lumos_queue.endpoints.admission import AdmissionControl
from lumos_queue.endpoints.failed_try import TryFailed
from lumos_queue.endpoints.http import RequestRefused, reply_bytes
from lumos_queue.endpoints.replicas import Replica, Replicas
from lumos_queue.errors import EpisodeError, UnclearFailure
from lumos_queue.records import JsonObject

LOOK_SECONDS = 0.05  #: between two checks for evidence
QUIET_SECONDS = 1.5  #: without another request in flight; then a control is sent
CONTROL = "control"  #: the item of such a request in the evidence


class Judge:
    """Finds the cause of failed requests to one endpoint. It belongs to one event loop."""

    def __init__(
        self,
        url: str,
        admission: AdmissionControl,
        replicas: Replicas,
        make_control: Callable[[], JsonObject],
        read_control: Callable[[JsonObject, Mapping[str, str]], object],
    ):
        """`make_control` returns the body of a control; `read_control` raises Malformed when the reply has no text."""
        self._url, self._admission, self._replicas = url, admission, replicas
        self._make_control, self._read_control = make_control, read_control
        self._control_failure_time = float("-inf")  # when the latest control failed
        self._is_controlling = False

    async def wait_for_evidence(
        self, item: Hashable, path: str, failures: Mapping[Replica, RequestRefused | TryFailed]
    ) -> None:
        """Wait until a replica of `failures` has answered another row or a control.

        Raises UnclearFailure when a control fails as well, and EndpointDown when all replicas are left out.
        """
        self._admission.suspended += 1
        quiet_since = time.perf_counter()
        try:
            while all(replica.evidence.is_open(item) for replica in failures):
                await self._admission.sleep(LOOK_SECONDS)
                now = time.perf_counter()
                if self._is_controlling or any(replica.flights.is_answering for replica in failures):
                    quiet_since = now
                elif now - quiet_since >= QUIET_SECONDS and not await self._passes_control(item, path, failures):
                    self._give_up(item, failures)
        finally:
            self._admission.suspended -= 1

    async def _passes_control(
        self, item: Hashable, path: str, failures: Mapping[Replica, RequestRefused | TryFailed]
    ) -> bool:
        """Whether the servers of these failures answer a control. A control that just failed counts for all rows."""
        if time.perf_counter() - self._control_failure_time < QUIET_SECONDS:
            return False
        self._is_controlling = True
        try:
            for replica in failures:
                if replica.evidence.is_open(item) and not await self._is_answered(replica, path):
                    self._control_failure_time = time.perf_counter()
                    return False
        finally:
            self._is_controlling = False
        return True

    async def _is_answered(self, replica: Replica, path: str) -> bool:
        await self._admission.enter()
        send_time = time.perf_counter()
        try:
            await replica.send(path, orjson.dumps(self._make_control()), self._read_control, reply_bytes(1))
        except (TryFailed, RequestRefused, EpisodeError):
            return False
        finally:
            self._admission.leave()
        self._admission.note_answer(time.perf_counter())
        replica.evidence.note_answer(CONTROL, send_time)
        return True

    def _give_up(self, item: Hashable, failures: Mapping[Replica, RequestRefused | TryFailed]) -> None:
        """Leave out replicas with evidence against them. Raise EndpointDown if none remains, else UnclearFailure."""
        for replica in failures:
            if not replica.evidence.is_lone(item):
                replica.avoid(time.perf_counter())
        failure = next(iter(failures.values()))
        message = failure.outage if isinstance(failure, RequestRefused) else _DOWN.format(self._url, failure)
        is_lone = all(replica.evidence.is_lone(item) for replica in failures)
        if not is_lone and all(replica.out for replica in self._replicas.all):
            self._admission.open_breaker(message, failure.status)
            self._admission.check_breaker()
        raise UnclearFailure(message, failure.status)


_DOWN = "{} is down, a request of one token failed, too; the last: {}"
