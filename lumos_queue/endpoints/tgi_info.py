"""What a text-generation-inference server says about itself, asked by huggingface_hub's client.

The library builds the requests and reads the replies; their bytes go over the connections of endpoints/http.py, so that
the bounds, the check of addresses, the keys and the refusal of redirects hold here as well. The library is told neither
the server's address nor its key: docs/decisions/0027 has the reasons. Importing it takes half a second of processor
time, so this module is imported when a server is first asked who it is.
"""

from __future__ import annotations

import logging

import httpx2
from huggingface_hub import AsyncInferenceClient
from huggingface_hub.errors import HfHubHTTPError

from lumos_queue.endpoints.http import Http

#: Stands for the server in the library's requests. No such name can exist (RFC 2606): a version of the library that
#: sent a request by another way than ours would reach nothing.
_PLACEHOLDER = "http://server.invalid"
#: httpx2 logs each request with its address, which here is the placeholder.
logging.getLogger("httpx2").addFilter(lambda record: _PLACEHOLDER not in record.getMessage())


async def read_info(http: Http) -> tuple[int, object]:
    """The status of GET /info and its JSON value, None when there is none. Raises InfrastructureError."""
    async with _Client(http) as client:
        try:
            value = await client.get_endpoint_info()
        except (HfHubHTTPError, ValueError, RecursionError):
            value = None
        return client.transport.status, value


async def read_health(http: Http) -> int:
    """The status of GET /health, 200 from a server that is well. Raises InfrastructureError."""
    async with _Client(http) as client:
        await client.health_check()
        return client.transport.status


class _Client(AsyncInferenceClient):
    """The library's client for one request to one server."""

    def __init__(self, http: Http):
        # A token of any text keeps the library from looking for the person's own, which may ask huggingface.co.
        super().__init__(_PLACEHOLDER, provider="hf-inference", token="none")
        self.transport = _Transport(http)

    async def _get_async_client(self) -> httpx2.AsyncClient:
        session = httpx2.AsyncClient(transport=self.transport, trust_env=False, follow_redirects=False)
        return await self.exit_stack.enter_async_context(session)


class _Transport(httpx2.AsyncBaseTransport):
    """Sends the path of a request, and none of its headers. Of a failure the library sees the status alone."""

    def __init__(self, http: Http):
        self._http = http
        self.status = 0  #: of the latest reply

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        reply = await self._http.fetch(request.url.path)
        self.status = reply.status
        return httpx2.Response(reply.status, content=reply.body if 200 <= reply.status < 300 else b"")
