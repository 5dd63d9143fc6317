"""Send statements to the child processes, for actions and for scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lumos_queue.actions.sql.database import SECONDS
from lumos_queue.actions.sql.server import open_access
from lumos_queue.actions.sql.tools import Tools
from lumos_queue.endpoints.dial import certificate_variables
from lumos_queue.errors import ActionError, InfrastructureError
from lumos_queue.settings import Settings
from lumos_queue.util.sandbox import Sandbox

CHILDREN = 2  #: processes of one job; a slow answer of a server blocks one process
#: Processor seconds of a request: reading a large database, an episode's earlier writes, and the statement.
REQUEST_SECONDS = 60.0


def new_sandbox(children: int = CHILDREN) -> Sandbox:
    return Sandbox("lumos_queue.actions.sql.child", children, variables=certificate_variables())


class Databases:
    """Runs statements on throw-away copies of databases, in killable processes."""

    def __init__(self, tools: Tools, settings: Settings | None = None, children: int = CHILDREN):
        """Raises SpecError if the file of LUMOS_API_KEYS, which contains the server's account, cannot be read."""
        self.tools = tools
        self._server = open_access(tools.server, settings) if tools.server else None
        self._sandbox = new_sandbox(children)

    async def ask(self, database: object, text: str, writes: Sequence[str] | None = None) -> dict[str, Any]:
        """Return the child's storable reply to the statement `text`.

        `writes`: the episode's earlier writes; None if the database is read only. Raises ActionError, and
        InfrastructureError if a server or the child process cannot work.
        """
        request: dict[str, Any] = {"text": text, "writes": writes, **self.tools.locate(database)}
        if self._server is not None:
            request["server"] = await self._server.describe()
        try:
            reply = await self._sandbox.call(request, REQUEST_SECONDS)
        except ActionError as error:
            if error.kind == "timeout":
                raise ActionError("timeout", f"the statement needs more than {SECONDS:g} s of processor time") from None
            raise
        if reply.get("error") == "infrastructure":
            raise InfrastructureError(reply["message"])
        if "error" in reply:
            raise ActionError(reply["error"], reply.get("message", ""))
        return reply

    async def close(self) -> None:
        """End the child processes."""
        await self._sandbox.close()
