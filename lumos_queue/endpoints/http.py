"""JSON over HTTP with bounded tries, time and size: what `tgi` and `openai` endpoints share.

Worth another try: no connection, a time-out, 408, 429, 5xx, and a reply that is cut off or not what was asked for. Any
other status is the request's own fault. Redirects are not followed, and proxies of the environment are not used: the
address that was written down is the one that is spoken to, and the only one to see the key.
"""

from __future__ import annotations

import asyncio
import email.utils
import json
import random
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import aiohttp

from lumos_queue.endpoints.base import EndpointSettings
from lumos_queue.errors import EpisodeError, InfrastructureError, SpecError
from lumos_queue.storable import storable

CONNECT_SECONDS = 10.0
PROBE_SECONDS = 10.0  #: for what is asked once, about the server itself
REPLY_BYTES = 8 * 2**20  #: a longer reply is refused
BACKOFF_SECONDS = 30.0  #: longest wait between two tries; a server that asks for more gets its request later, not now
RETRY_AFTER_SECONDS = 3600.0  #: no server's wish for a pause counts for more

T = TypeVar("T")


class Malformed(ValueError):
    """Raised by a reader when a reply is no such reply; worth another try."""


class Http:
    """A client of one address, with its own connections. Safe to use from many coroutines of one event loop."""

    def __init__(self, base: str, settings: EndpointSettings, first_backoff: float = 0.5):
        self._base = base
        self._settings = settings
        self._first_backoff = first_backoff  #: seconds before the second try, doubled each time
        self._session: aiohttp.ClientSession | None = None

    async def post(
        self, path: str, body: Mapping[str, Any], read: Callable[[dict[str, Any], Mapping[str, str]], T]
    ) -> tuple[T, float, int]:
        """POST `body`: what `read` makes of the reply and its headers, the seconds of that request, the retries.

        Raises InfrastructureError when the tries are used up, EpisodeError for a status that another try cannot mend.
        """
        url, data = self._base + path, json.dumps(body).encode()
        retries = 0
        while True:
            try:
                session = self._open()
                async with self._slots:
                    started = time.perf_counter()
                    async with session.post(url, data=data, allow_redirects=False) as response:
                        if response.status >= 300:
                            raise await _refusal(response)
                        value = read(_object(await _bounded(response)), response.headers)
                    return value, time.perf_counter() - started, retries
            except InfrastructureError as error:
                failure = error
            except Malformed as error:
                failure = InfrastructureError(f"{url} sent no valid reply: {error}")
            except TimeoutError:
                failure = InfrastructureError(f"{url} took longer than {self._settings.request_seconds:g} s")
            except (aiohttp.ClientError, OSError) as error:
                failure = InfrastructureError(f"{url} failed: {_line(str(error) or type(error).__name__)}")
            wait = failure.retry_after
            if wait is None:
                # Half fixed, half random: clients that failed together do not come back together.
                wait = min(BACKOFF_SECONDS, self._first_backoff * 2**retries) * random.uniform(0.5, 1.0)
            if retries >= self._settings.request_retries or wait > BACKOFF_SECONDS:
                raise failure
            await asyncio.sleep(wait)
            retries += 1

    async def get(self, path: str) -> tuple[int, Any]:
        """The status of `path` and its JSON value, None when it is no JSON. One try.

        Raises InfrastructureError when nothing answers.
        """
        url = self._base + path
        try:
            limit = aiohttp.ClientTimeout(total=min(PROBE_SECONDS, self._settings.request_seconds))
            async with self._open().get(url, timeout=limit, allow_redirects=False) as response:
                try:
                    return response.status, _json(await _bounded(response))
                except Malformed:
                    return response.status, None
        except (aiohttp.ClientError, OSError) as error:
            problem = "no answer in time" if isinstance(error, TimeoutError) else _line(str(error))
            raise InfrastructureError(f"nothing answers at {url} ({problem})") from None

    async def probe(self, path: str) -> tuple[int, Any]:
        """`get` for a person: raises SpecError when nothing answers or the key is refused."""
        try:
            status, value = await self.get(path)
        except InfrastructureError as error:
            raise SpecError(f"Cannot use the endpoint, {error}: start the server or correct the URL.") from None
        if status in (401, 403):
            raise SpecError(f"{self._base}{path} refuses the key ({status}): set LUMOS_API_KEY.")
        return status, value

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _open(self) -> aiohttp.ClientSession:
        """The session, opened by the first call: it belongs to the loop that runs then."""
        if self._session is None or self._session.closed:
            headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
            if self._settings.api_key:
                headers["Authorization"] = f"Bearer {self._settings.api_key}"
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                timeout=aiohttp.ClientTimeout(total=self._settings.request_seconds, sock_connect=CONNECT_SECONDS),
                headers=headers,
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
            )
            # In place of aiohttp's own limit, which counts the wait for a connection as part of the time-out.
            self._slots = asyncio.Semaphore(self._settings.concurrency)
        return self._session


async def _bounded(response: aiohttp.ClientResponse) -> bytes:
    size, chunks = 0, []
    async for chunk in response.content.iter_any():
        size += len(chunk)
        if size > REPLY_BYTES:
            raise Malformed(f"longer than {REPLY_BYTES} bytes")
        chunks.append(chunk)
    return b"".join(chunks)


def _json(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"no JSON ({_line(str(error))})") from None


def _object(raw: bytes) -> dict[str, Any]:
    value = _json(raw)
    if not isinstance(value, dict):
        raise Malformed(f"JSON, but a {type(value).__name__} where an object is expected")
    return value


async def _refusal(response: aiohttp.ClientResponse) -> EpisodeError | InfrastructureError:
    """The error for a status other than 2xx, with the beginning of what the server says about it."""
    try:
        body = (await _bounded(response)).decode("utf-8", "replace")
    except (aiohttp.ClientError, Malformed):
        body = ""  # the status says enough
    message = f"{response.url} answered {response.status}: {_line(body) or response.reason}"
    if response.status in (408, 429) or response.status >= 500:
        return InfrastructureError(message, _retry_after(response.headers.get("Retry-After", "")))
    return EpisodeError("infra_error", message)


def _retry_after(value: str) -> float | None:
    """Seconds from a Retry-After header: a number or an HTTP date (RFC 9110, 10.2.3). None when it is neither."""
    try:
        seconds = float(value) if value[:1].isdigit() else _until(value)
    except (ValueError, OverflowError):
        return None
    return min(max(seconds, 0.0), RETRY_AFTER_SECONDS)


def _until(date: str) -> float:
    return email.utils.parsedate_to_datetime(date).timestamp() - time.time()


def _line(text: str) -> str:
    """The first 200 characters of a text, on one line and storable."""
    return storable(" ".join(text[:1000].split())[:200])[0]
