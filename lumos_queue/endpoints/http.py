"""A client of one server: JSON over HTTP with bounded size. It tries a request once; flights.py limits the time.

Another try may succeed if there was no connection, after 408, 424, 425, 429 and 5xx, and if the reply is cut off or
malformed. A reply about a prompt that is too long for the model ends the episode at its limit (context_length.py). Any
other status is a refusal, whose cause needs evidence (evidence.py). Redirects and proxies of the environment are not
used: requests go to the configured address, and no other server sees the key.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import TypeVar

import orjson

from lumos_queue.endpoints.api_keys import find_key
from lumos_queue.endpoints.base import EndpointSettings
from lumos_queue.endpoints.connection import Broken, ForbiddenHost, HttpReply, TooLong, Unreachable
from lumos_queue.endpoints.connections import Connections
from lumos_queue.endpoints.context_length import ContextFull, is_context_full
from lumos_queue.endpoints.failed_try import TryFailed
from lumos_queue.endpoints.hosts import Hosts
from lumos_queue.endpoints.statuses import explain, is_transient
from lumos_queue.errors import EndpointNotReady, EndpointRefused, InfrastructureError
from lumos_queue.records import Json, JsonObject
from lumos_queue.util.addresses import Origin
from lumos_queue.util.retry_after import read_retry_after
from lumos_queue.util.sanitize import storable

CONNECT_SECONDS = 10.0
PROBE_SECONDS = 10.0  #: for questions about the server itself
REPLY_BYTES = 8 * 2**20  #: a longer reply is refused, whatever the request is
PROBE_BYTES = 4 * 2**20  #: for descriptions of the server: lists of models are long
HEALTH_BYTES = 64 * 2**10  #: for an answer about its health, which is not read

T = TypeVar("T")


def reply_bytes(max_tokens: int) -> int:
    """Return the maximum size of a reply of `max_tokens` tokens, in bytes.

    It has 64 KiB for the head and the fields around the text, and 1 KiB for each token: the longest tokens have some
    130 bytes, JSON's escapes need up to six times as many, and servers that list tokens add about 200 for each.
    """
    return min(REPLY_BYTES, 2**16 + 2**10 * max_tokens)


class Malformed(ValueError):
    """Raised when a reply lacks the requested fields; another try may succeed."""


class RequestRefused(InfrastructureError):
    """Raised when a server answers a try with a status that is neither 2xx nor transient (statuses.py).

    `outage`: the message for people if evidence shows that the server is at fault.
    """

    def __init__(self, message: str, status: int, outage: str):
        self.status, self.outage = status, outage
        super().__init__(message)


class Http:
    """A client of one server, with its own connections. Safe to use from many coroutines of one event loop."""

    def __init__(self, base: str, settings: EndpointSettings):
        self.base = base
        self._seconds = settings.request_seconds
        self._key = find_key(settings.api_keys, base)
        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key.text}"
        stays_here = self._key is not None and base.startswith("http:") and not self._key.cleartext
        beyond = "the line of its key in LUMOS_API_KEYS does not say cleartext" if stays_here else ""
        hosts = Hosts(settings.endpoint_hosts)
        self._connections = Connections(base, headers, CONNECT_SECONDS, PROBE_BYTES, hosts, beyond)

    async def post(
        self,
        path: str,
        data: bytes,
        read: Callable[[JsonObject, Mapping[str, str]], T],
        max_bytes: int = REPLY_BYTES,
    ) -> T:
        """POST `data` once, and return the result of `read` for reply and headers. `max_bytes`: limit of the reply.

        Raises TryFailed, RequestRefused or ContextFull.
        """
        url = self.base + path
        try:
            reply = await self._send(path, data, max_bytes)
            if reply.status >= 300:
                raise refusal(url, reply.status, reply.headers, self._without_key(reply.body), reply.reason)
            try:
                return read(json_object(reply.body), reply.headers)
            except Malformed:
                if is_context_full(reply.status, reply.body):  # a 2xx with an error in place of the reply
                    body = one_line(self._without_key(reply.body)[:1000].decode("utf-8", "replace"))
                    raise ContextFull(f"{url} answered {reply.status}: {body}") from None
                raise
        except Malformed as error:
            raise TryFailed(f"{url} sent no valid reply: {error}") from None
        except TooLong as error:
            if error.status >= 300:
                raise refusal(url, error.status, {}, b"", "a long reply") from None
            raise TryFailed(f"{url} sent no valid reply: {error}") from None
        except Broken as error:
            cause = "unreachable" if isinstance(error, Unreachable) else "broken"
            raise TryFailed(f"{url} failed: {one_line(str(error))}", cause=cause) from None

    async def _send(self, path: str, data: bytes, max_bytes: int) -> HttpReply:
        return await self._connections.request("POST", path, data, math.inf, max_bytes)

    def _without_key(self, body: bytes) -> bytes:
        """Remove the key from a server's error, which messages quote: some servers repeat the request's headers."""
        return body.replace(self._key.text.encode(), b"[the key]") if self._key else body

    async def fetch(self, path: str, max_bytes: int = PROBE_BYTES) -> HttpReply:
        """GET `path` once. Return the reply, whatever its status is; without its body if it exceeds `max_bytes`.

        Raises InfrastructureError when nothing answers.
        """
        url = self.base + path
        try:
            return await self._connections.request("GET", path, b"", min(PROBE_SECONDS, self._seconds), max_bytes)
        except TooLong as error:
            return HttpReply(error.status, "", {}, b"")
        except ForbiddenHost as error:
            raise InfrastructureError(f"which is not called from here: {error}") from None
        except (Broken, TimeoutError) as error:
            problem = "no answer in time" if isinstance(error, TimeoutError) else one_line(str(error))
            raise InfrastructureError(f"nothing answers at {url} ({problem})") from None

    async def is_alive(self) -> bool:
        """Whether the server answers a request for its health, with any status."""
        try:
            await self.fetch("/health", HEALTH_BYTES)
        except InfrastructureError:
            return False
        return True

    async def probe(self, path: str) -> tuple[int, Json]:
        """GET `path`. Return the status, and the JSON value or None if the body is not JSON.

        Raises InfrastructureError when nothing answers, and EndpointRefused when the server refuses access.
        """
        reply = await self.fetch(path)
        self.check_access(reply.status)
        try:
            return reply.status, _json(reply.body)
        except Malformed:
            return reply.status, None

    def check_access(self, status: int) -> None:
        """Raise EndpointRefused, with a message for people, if the status means that a key is missing or refused."""
        if status in (401, 403):
            origin = Origin.of(self.base)
            problem = f"wants a key ({status}): write '{origin} KEY' into a file, and its path into LUMOS_API_KEYS."
            if self._key:
                problem = f"refuses the key ({status}): correct its line in the file of LUMOS_API_KEYS."
            raise EndpointRefused(f"{origin} {problem}", status=status)

    def not_ready(self, path: str, status: int) -> EndpointNotReady:
        """Return the error for a status of 500 or more to GET `path`. llama.cpp sends 503 while it loads its model."""
        answer = f"GET {path} answered {status}"
        reason = f"its model is loading ({answer})" if status == 503 else answer
        return EndpointNotReady(f"{self.base} is not ready: {reason}", status=status)

    async def close(self) -> None:
        """Close the connections. Requests in progress fail."""
        self._connections.close()


def _json(raw: bytes) -> Json:
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        pass  # only the slower reader takes NaN and unpaired surrogates, which servers send
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"not JSON ({one_line(str(error))})") from None


def json_object(raw: bytes) -> JsonObject:
    """Return the JSON object in a reply. Raises Malformed for any other reply."""
    value = _json(raw)
    if not isinstance(value, dict):
        raise Malformed(f"JSON, but a {type(value).__name__} where an object is expected")
    return value


def refusal(
    url: str, status: int, headers: Mapping[str, str], body: bytes, reason: str
) -> RequestRefused | TryFailed | ContextFull:
    """Return the error for a status other than 2xx, with the beginning of the server's message."""
    answer = one_line(body[:1000].decode("utf-8", "replace")) or one_line(reason)
    message = f"{url} answered {status}: {answer}"
    if is_context_full(status, body):
        return ContextFull(message)
    if is_transient(status):
        return TryFailed(message, read_retry_after(headers.get("retry-after", "")), status)
    return RequestRefused(message, status, explain(url, status, headers.get("location", ""), answer))


def one_line(text: str) -> str:
    """Return the first 200 characters of a text, on one line and storable."""
    return storable(" ".join(text[:1000].split())[:200])[0]
