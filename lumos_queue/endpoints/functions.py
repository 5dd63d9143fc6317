"""A Python function as a model: `function:package.module:object`, or one that a program gave (lumos_queue/api).

It gets the prompt and returns the reply, also as a coroutine. A function that blocks is called in a thread.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable, Sequence
from typing import Any

from lumos_queue.commands import Constraint
from lumos_queue.endpoints.base import EndpointSettings, ImagePart, Sampling
from lumos_queue.endpoints.constraints import judge, refuse_search
from lumos_queue.endpoints.replies import completion
from lumos_queue.errors import EpisodeError, InfrastructureError, SpecError
from lumos_queue.records import Completion, Ending
from lumos_queue.util.registry import Registry

Function = Callable[[str], Any]
FUNCTIONS: Registry[Function] = Registry("function", {}, "endpoints")


def check_function(url: str) -> None:
    """Raises SpecError where the address names no function that this process may import."""
    name = url.partition(":")[2]
    if not callable(FUNCTIONS.load(name)):
        raise SpecError(f"'{name[:80]}' is not a function: expected one that gets a prompt and returns a text.")


def open_function(url: str, _settings: EndpointSettings) -> FunctionEndpoint:
    """The endpoint at `function:NAME`."""
    return FunctionEndpoint(url)


class FunctionEndpoint:
    """Answers by calling the function. Images are refused: a function is shown text only."""

    def __init__(self, url: str):
        self.url = url
        self.admission = None
        name = url.partition(":")[2]
        self._function, self._plugin = FUNCTIONS.load(name), FUNCTIONS.plugin(name)

    async def generate(
        self,
        prompt: str,
        sampling: Sampling,
        seed: int,
        episode: str = "",
        images: Sequence[ImagePart] = (),
        constraint: Constraint | None = None,
        n: int = 1,
    ) -> Completion:
        """Raises EpisodeError('infra_error', …) when the function fails, or returns no text."""
        refuse_search(self.url, sampling, n)
        if images:
            raise EpisodeError(Ending.INFRA_ERROR, f"{self.url} takes no images")
        started = time.perf_counter()
        try:
            if inspect.iscoroutinefunction(self._function):
                reply = await self._function(prompt)
            else:
                reply = await asyncio.to_thread(self._function, prompt)
        except (EpisodeError, InfrastructureError):
            raise
        except Exception as error:  # whatever the code of others raises
            raise EpisodeError(Ending.INFRA_ERROR, f"{self.url} failed: {type(error).__name__}: {error}") from error
        if not isinstance(reply, str):
            raise EpisodeError(Ending.INFRA_ERROR, f"{self.url} returned {type(reply).__name__}, not a text")
        done = completion(reply, sampling.stop, truncated=False, seconds=time.perf_counter() - started)
        return judge(done, constraint, sent=False)

    async def identity(self) -> dict[str, Any]:
        assert self._plugin is not None
        return {"model": self._plugin.name, "sha256": self._plugin.digest}

    async def close(self) -> None:
        """Nothing is held open."""
