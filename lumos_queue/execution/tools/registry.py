"""The external tools, by name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from lumos_queue.commands import Call
from lumos_queue.errors import unknown
from lumos_queue.execution.tools.caller import Caller
from lumos_queue.execution.tools.guard import Guard
from lumos_queue.execution.tools.http import GuardedHttp
from lumos_queue.execution.tools.named_server import NamedServer
from lumos_queue.execution.tools.rate_limit import HostRateLimiter
from lumos_queue.execution.tools.tool_server import ToolServer
from lumos_queue.execution.tools.wikipedia import API, Wikipedia
from lumos_queue.records import Execution, JsonObject
from lumos_queue.settings import Settings
from lumos_queue.util.version import RELEASE

#: Makes a call from its arguments and its key, returns its result. May raise ActionError and InfrastructureError.
Tool = Callable[[JsonObject, str], Awaitable[Execution]]


def open_live(settings: Settings, server: str = "") -> Caller:
    """Return a caller for tools on the public network and for the API server at the URL `server`. Raises SpecError.

    The API server has its own client, which fetches no pages, so that no page can redirect to the server.
    """
    agent = user_agent(settings)
    server_http = None
    if server:
        guard = Guard(server=NamedServer.of(server, settings.endpoint_hosts))
        server_http = GuardedHttp(guard, agent, rate_limiter=HostRateLimiter(0))
    return call_through(GuardedHttp(Guard(), agent), keys=settings.api_keys, server=server_http)


def call_through(
    http: GuardedHttp, api: str = API, keys: Path | None = None, server: GuardedHttp | None = None
) -> Caller:
    """Return a caller that calls tools through the client `http`. The caller closes the clients when it is closed.

    `api`: the address of Wikipedia's API. `keys`: the file of keys. `server`: the client for API servers; None: `http`.
    """
    wikipedia = Wikipedia(http, api)
    tools: dict[str, Tool] = {
        "wikipedia": wikipedia.wikipedia,
        "search": wikipedia.search,
        "api": ToolServer(server or http, keys).call,
    }

    async def make(command: Call, key: str) -> Execution:
        if command.tool not in tools:
            raise unknown("tool", command.tool, tools)
        return await tools[command.tool](command.arguments, key)

    async def close() -> None:
        await http.close()
        if server is not None:
            await server.close()

    return Caller(make, close)


def user_agent(settings: Settings) -> str:
    """Return the User-Agent header, with LUMOS_CONTACT: Wikimedia's policy requires a contact."""
    return f"lumos-queue/{RELEASE} ({settings.contact or 'no contact given'})"
