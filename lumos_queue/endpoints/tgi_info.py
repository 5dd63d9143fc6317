"""The description of a text-generation-inference server, by huggingface_hub's client.

The library builds the requests and reads the replies. The bytes go over the connections of endpoints/http.py, which
bound their size, check addresses, add keys and refuse redirects. The library gets neither the server's address nor its
key: docs/decisions/0027 has the reasons. Importing it takes half a second of processor time, so this module is imported
at the first request for a server's identity.
"""

from __future__ import annotations

import logging

import httpx2
from huggingface_hub import AsyncInferenceClient
from huggingface_hub.errors import HfHubHTTPError

from lumos_queue.endpoints.http import Http

#: The server's address in the library's requests. No such name can exist (RFC 2606), so a version of the library that
#: sends a request by another way reaches no server.
_PLACEHOLDER = "http://server.invalid"
#: httpx2 logs each request with its address, which here is the placeholder.
logging.getLogger("httpx2").addFilter(lambda record: _PLACEHOLDER not in record.getMessage())


async def read_info(http: Http) -> tuple[int, object]:
    """Return the status of GET /info and its JSON value or None. Raises InfrastructureError if nothing answers."""
    async with _Client(http) as client:
        try:
            value = await client.get_endpoint_info()
        except (HfHubHTTPError, ValueError, RecursionError):
            value = None
        return client.transport.status, value


async def read_health(http: Http) -> int:
    """Return the status of GET /health: 200 from a healthy server. Raises InfrastructureError if nothing answers."""
    async with _Client(http) as client:
        await client.health_check()
        return client.transport.status


class _Client(AsyncInferenceClient):
    """The library's client for one request to one server."""

    def __init__(self, http: Http):
        # With any token the library does not search for the person's own, which may send a request to huggingface.co.
        super().__init__(_PLACEHOLDER, provider="hf-inference", token="none")
        self.transport = _Transport(http)

    async def _get_async_client(self) -> httpx2.AsyncClient:
        session = httpx2.AsyncClient(transport=self.transport, trust_env=False, follow_redirects=False)
        return await self.exit_stack.enter_async_context(session)


class _Transport(httpx2.AsyncBaseTransport):
    """Sends the path of a request, without its headers. If the request fails, the library only gets the status."""

    def __init__(self, http: Http):
        self._http = http
        self.status = 0  #: of the latest reply

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        reply = await self._http.fetch(request.url.path)
        self.status = reply.status
        return httpx2.Response(reply.status, content=reply.body if 200 <= reply.status < 300 else b"")
