"""Requests to any public server: checked, bounded in time and size, one at a time for each host.

Requests use no proxies, cookies or credentials in headers, and of the environment only the trusted certificates
(SSL_CERT_FILE). This module follows redirects itself, to check each like the first address. It accepts only gzip as
compression, and unpacks it up to the limit of size.
"""

from __future__ import annotations

import asyncio
import ssl
import time
import zlib
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from email.message import Message
from urllib.parse import urljoin

import httpcore2

from lumos_queue.endpoints.dial import tls_context
from lumos_queue.errors import ActionError, InfrastructureError
from lumos_queue.execution.tools.connections import CheckedBackend
from lumos_queue.execution.tools.guard import Guard, Target
from lumos_queue.execution.tools.rate_limit import HostRateLimiter
from lumos_queue.util.wording import format_limit

SECONDS = 30.0  #: for one request with all its redirects
CONNECT_SECONDS = 10.0
MAX_BYTES = 16 << 20  #: of a body, before and after it is unpacked
MAX_REDIRECTS = 5
MAX_CONTENT_TYPE = 1_000  #: characters of that header, because the time of its parser grows with their square
_REDIRECTS = (301, 302, 303, 307, 308)
_LATER = (408, 425, 429)  #: statuses for which, as for all 5xx, a later retry may succeed


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """The reply to the last request. Header names are in lower case."""

    url: str  #: after redirects
    headers: Mapping[str, str]
    media_type: str
    charset: str
    body: bytes


class GuardedHttp:
    """A client, which belongs to the event loop of its first request."""

    def __init__(
        self,
        guard: Guard,
        user_agent: str,
        *,
        seconds: float = SECONDS,
        max_bytes: int = MAX_BYTES,
        ssl_context: ssl.SSLContext | None = None,
        rate_limiter: HostRateLimiter | None = None,
    ):
        self.guard = guard
        self._seconds, self._max_bytes = seconds, max_bytes
        self._user_agent = user_agent
        self._rate_limiter = rate_limiter or HostRateLimiter()
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=ssl_context or tls_context(), keepalive_expiry=30.0, network_backend=CheckedBackend(guard)
        )

    async def get(self, url: str, media_types: Sequence[str], headers: Mapping[str, str] | None = None) -> FetchedPage:
        """Return the 2xx reply to a GET, after redirects. Its media type must be in `media_types`.

        Raises ActionError of kind refused, not_found, http_error, bad_reply or too_large; InfrastructureError without
        a connection, without a reply in time, or if the server requests a later retry.
        """
        target = self.guard.check(url)
        fields = {"Accept": ", ".join(media_types), **(headers or {})}
        remaining_seconds = self._seconds
        for _ in range(MAX_REDIRECTS + 1):
            async with self._rate_limiter.turn(target.authority):
                start = time.monotonic()
                reply = await self._fetch(remaining_seconds, target, fields, media_types)
                remaining_seconds -= time.monotonic() - start
            if isinstance(reply, FetchedPage):
                return reply
            target = reply
        raise ActionError("http_error", f"{_quote(url)} redirects more than {MAX_REDIRECTS} times")

    async def post(
        self, url: str, content: bytes, media_types: Sequence[str], headers: Mapping[str, str] | None = None
    ) -> FetchedPage:
        """Return the 2xx reply to a POST of `content`, which is JSON. Its media type must be in `media_types`.

        Raises as `get`. A redirect is an http_error, because the content must reach only the server in `url`.
        """
        target = self.guard.check(url)
        fields = {"Accept": ", ".join(media_types), "Content-Type": "application/json", **(headers or {})}
        fields["Content-Length"] = str(len(content))
        async with self._rate_limiter.turn(target.authority):
            reply = await self._fetch(self._seconds, target, fields, media_types, content)
        if not isinstance(reply, FetchedPage):
            raise ActionError(
                "http_error", f"{target.authority} redirects a request that was posted: it is not followed"
            )
        return reply

    def pause(self, url: str, retry_after: str) -> float:
        """Begin the pause that the Retry-After header of a reply requests, and return its seconds."""
        return self._rate_limiter.pause(self.guard.check(url).authority, retry_after)

    async def close(self) -> None:
        await self._pool.aclose()

    async def _fetch(
        self,
        seconds: float,
        target: Target,
        fields: Mapping[str, str],
        types: Sequence[str],
        content: bytes | None = None,
    ) -> FetchedPage | Target:
        """Send a request, a POST if there is `content`. Return the page, or the Target of a redirect."""
        try:
            async with asyncio.timeout(max(seconds, 0.0)), self._send(target, fields, content) as response:
                return await self._read(target, response, types)
        except TimeoutError:
            raise InfrastructureError(
                f"{target.authority} did not answer within {format_limit(self._seconds)}"
            ) from None
        except (httpcore2.TimeoutException, httpcore2.NetworkError, httpcore2.ProtocolError) as error:
            reason = str(error) or type(error).__name__
            raise InfrastructureError(f"{target.authority} cannot be asked: {reason}") from None
        except httpcore2.UnsupportedProtocol as error:
            raise ActionError("refused", f"{_quote(target.url)} is not asked: {error}") from None

    @asynccontextmanager
    async def _send(
        self, target: Target, fields: Mapping[str, str], content: bytes | None
    ) -> AsyncGenerator[httpcore2.Response, None]:
        headers = {"Host": target.authority, "User-Agent": self._user_agent, "Accept-Encoding": "gzip", **fields}
        address = httpcore2.URL(
            scheme=target.scheme.encode(), host=target.host.encode(), port=target.port, target=target.path.encode()
        )
        pairs = [(name.encode("ascii"), value.encode("latin-1", "replace")) for name, value in headers.items()]
        extensions = {"timeout": {"connect": CONNECT_SECONDS, "read": self._seconds, "write": self._seconds}}
        method = "GET" if content is None else "POST"
        async with self._pool.stream(
            method, address, headers=pairs, content=content, extensions=extensions
        ) as response:
            yield response

    async def _read(self, target: Target, response: httpcore2.Response, types: Sequence[str]) -> FetchedPage | Target:
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
        status = response.status
        if status in _REDIRECTS and "location" in headers:
            return self._redirect(target, headers["location"])
        if status in _LATER or status >= 500:
            wait = self._rate_limiter.pause(target.authority, headers.get("retry-after", ""))
            raise InfrastructureError(f"{target.authority} answers {status}", wait)
        if status in (404, 410):
            raise ActionError("not_found", f"{_quote(target.url)} answers {status}: there is no such page")
        if not 200 <= status < 300:
            raise ActionError("http_error", f"{_quote(target.url)} answers {status}")
        content = read_content_type(headers.get("content-type", ""))
        media_type = content.get_content_type()
        if media_type not in types or "content-type" not in headers:
            raise ActionError(
                "bad_reply",
                f"{target.authority} sends '{headers.get('content-type', '')[:60]}', expected {' or '.join(types)}",
            )
        body = await self._body(target, response, headers.get("content-encoding", "").strip().lower())
        return FetchedPage(target.url, headers, media_type, content.get_content_charset("utf-8"), body)

    def _redirect(self, target: Target, location: str) -> Target:
        new = self.guard.check(urljoin(target.url, location))
        if target.scheme == "https" and new.scheme == "http":
            raise ActionError("refused", f"{target.authority} redirects from https to {_quote(new.url)}")
        return new

    async def _body(self, target: Target, response: httpcore2.Response, encoding: str) -> bytes:
        if encoding not in ("", "identity", "gzip", "x-gzip"):
            raise ActionError("bad_reply", f"{target.authority} sends the compression '{encoding[:20]}' unasked")
        unpack = zlib.decompressobj(wbits=31) if "gzip" in encoding else None
        max_bytes, received_bytes, body = self._max_bytes, 0, bytearray()
        async for chunk in response.aiter_stream():
            received_bytes += len(chunk)
            if unpack is not None:
                try:
                    chunk = unpack.decompress(chunk, max_bytes - len(body) + 1)
                except zlib.error as error:
                    raise ActionError("bad_reply", f"{target.authority} sends broken gzip: {error}") from None
            body += chunk
            if max(received_bytes, len(body)) > max_bytes:
                raise ActionError("too_large", f"{_quote(target.url)} has more than {max_bytes:,} bytes")
        if unpack is not None and not unpack.eof:
            raise InfrastructureError(f"{target.authority} sent half of its reply")
        return bytes(body)


def read_content_type(value: str) -> Message:
    """Return a Content-Type header in parsed form, from its first MAX_CONTENT_TYPE characters."""
    content = Message()
    content["content-type"] = value[:MAX_CONTENT_TYPE]
    return content


def _quote(url: str) -> str:
    return f"'{url[:200]}'"
