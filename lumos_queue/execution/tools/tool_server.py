"""Calls of APIs through a server with ToolBench's interface, such as StableToolBench's virtual API server.

    POST SERVER {"category", "tool_name", "api_name", "tool_input", "strip", "toolbench_key"}  ->  {"error", "response"}

A reply of the API is an answer, even if it is an error. If there is no reply, because the server is down, refuses or
times out, the call is retried later. The server's key is in the file LUMOS_API_KEYS. No job can choose the key, or send
it to another server.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from lumos_queue.actions.tools.answers import Answer
from lumos_queue.actions.tools.function_names import category_name, safe_name, standardize
from lumos_queue.endpoints.api_keys import find_key
from lumos_queue.errors import ActionError
from lumos_queue.execution.tools.http import FetchedPage, GuardedHttp
from lumos_queue.records import Execution, Json, JsonObject
from lumos_queue.util.untrusted_json import read_json

STRIP = "truncate"  #: the server's way to shorten a response: the only way without a model


class ToolServer:
    """The tool `api`, which calls APIs through a server."""

    def __init__(self, http: GuardedHttp, keys: Path | None = None):
        self._http, self._keys = http, keys

    async def call(self, arguments: JsonObject, key: str) -> Execution:
        """Return an API's answer. Raises as GuardedHttp.post, and ActionError of kind bad_arguments or bad_reply."""
        server = arguments.get("server")
        if not isinstance(server, str) or not isinstance(arguments.get("arguments"), dict):
            raise ActionError("bad_arguments", "a call of an API needs a server and an object of arguments")
        self._http.guard.check(server)
        server_key = find_key(self._keys, server)
        content = {
            "category": category_name(str(arguments.get("category", ""))),
            "tool_name": standardize(str(arguments.get("tool", ""))),
            "api_name": safe_name(str(arguments.get("api", ""))),
            "tool_input": json.dumps(arguments["arguments"]),
            "strip": STRIP,
            "toolbench_key": server_key.text if server_key else "",
        }
        headers = {"Idempotency-Key": key} if key else None
        reply = await self._http.post(server, json.dumps(content).encode(), ["application/json"], headers)
        answer = await asyncio.to_thread(_read, reply)
        error = answer.get("error") or ""
        text = error if isinstance(error, str) else json.dumps(error)
        return await asyncio.to_thread(Answer(text, answer["response"], None, "live").execution)


def _read(reply: FetchedPage) -> JsonObject:
    try:
        content: Json = read_json(reply.body)
    except ValueError:
        content = None
    if not isinstance(content, dict) or "response" not in content:
        raise ActionError("bad_reply", f"{reply.url.partition('?')[0]} sends no JSON object with 'response'")
    return content
