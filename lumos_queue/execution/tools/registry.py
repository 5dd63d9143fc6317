"""The external tools, by name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from lumos_queue.commands import Call
from lumos_queue.errors import unknown
from lumos_queue.execution.tools.caller import Caller
from lumos_queue.execution.tools.guard import Guard
from lumos_queue.execution.tools.http import GuardedHttp
from lumos_queue.execution.tools.named_server import NamedServer
from lumos_queue.execution.tools.rate_limit import HostRateLimiter
from lumos_queue.execution.tools.tool_server import ToolServer
from lumos_queue.execution.tools.wikipedia import API, Wikipedia
from lumos_queue.records import Execution
from lumos_queue.settings import Settings
from lumos_queue.util.version import RELEASE

#: Gets the arguments of a call and its key, returns what came of it. May raise ActionError and InfrastructureError.
Tool = Callable[[Mapping[str, Any], str], Awaitable[Execution]]


def open_live(settings: Settings, server: str = "") -> Caller:
    """A caller that calls tools on the public network, and the server of APIs that `server` names. Raises SpecError.

    That server has a client of its own, with which nothing is fetched: no page can redirect to it.
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
    """A caller that calls tools through this client; `api` as for Wikipedia, `keys` as for servers of APIs, which are
    asked through the client `server` where there is one.

    Closing it closes the clients.
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
    """The User-Agent header. Wikimedia's policy asks for a way to reach the person: LUMOS_CONTACT."""
    return f"lumos-queue/{RELEASE} ({settings.contact or 'no contact given'})"
