"""Use a Python function as a model: `function:package.module:object`, or a function of a program (lumos_queue/api).

The function gets the prompt and returns the reply. It may be a coroutine function; any other is called in a thread.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from lumos_queue.endpoints.base import EndpointSettings, Sampling
from lumos_queue.endpoints.simple import SimpleEndpoint
from lumos_queue.errors import SpecError
from lumos_queue.records import Json
from lumos_queue.util.plugins import is_dotted
from lumos_queue.util.registry import Registry

Function = Callable[[str], Any]
FUNCTIONS: Registry[Function] = Registry("function", {}, "endpoints")


def check_name(url: str) -> None:
    """Raise SpecError if the address has not the form `function:package.module:name`. Import nothing."""
    name = url.partition(":")[2]
    if not is_dotted(name):
        raise SpecError(f"'function:{name[:80]}' names no function: expected function:package.module:name.")


def check_function(url: str) -> None:
    """Import the function of an address. Raises SpecError if it is none, or this process may not import it."""
    check_name(url)
    name = url.partition(":")[2]
    if not callable(FUNCTIONS.load(name)):
        raise SpecError(f"'{name[:80]}' is not a function: expected a function that gets a prompt and returns a text.")


class FunctionEndpoint(SimpleEndpoint):
    """An endpoint that calls the function at `function:NAME`."""

    def __init__(self, url: str, settings: EndpointSettings):
        super().__init__(url, settings)
        name = url.partition(":")[2]
        self._function, self._plugin = FUNCTIONS.load(name), FUNCTIONS.plugin(name)

    async def reply(self, prompt: str, sampling: Sampling) -> str:
        if inspect.iscoroutinefunction(self._function):
            return await self._function(prompt)
        reply = await asyncio.to_thread(self._function, prompt)
        return await reply if inspect.isawaitable(reply) else reply

    async def identity(self) -> dict[str, Json]:
        assert self._plugin is not None
        return {"model": self._plugin.name, "sha256": self._plugin.digest}
