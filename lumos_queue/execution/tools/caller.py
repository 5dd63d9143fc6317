"""Calls of external tools: made when that was asked for, answered from an earlier job, or refused.

Within one caller no call is made twice: the same call again gets the same answer, also while the first is under way;
one that is the second of its episode (Call.nth) is another call.
A call that failed for reasons of the network is forgotten, so that trying again makes it again.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import replace

from lumos_queue.commands import Call
from lumos_queue.errors import ActionError
from lumos_queue.records import Execution
from lumos_queue.util.sanitize import storable, storable_json

#: Gets a call and its key, returns what came of it. May raise ActionError and InfrastructureError.
Answer = Callable[[Call, str], Awaitable[Execution]]

MAX_KEPT = 256  #: answers kept in memory
MAX_CHARACTERS = 1_000_000  #: of an answer, as JSON
UNMADE = ("live_refused", "not_recorded")  #: statuses of calls that were not made: nothing to replay


class Caller:
    """Answers calls: `answer` gets each different one. Belongs to one event loop."""

    def __init__(self, answer: Answer, close: Callable[[], Awaitable[None]] | None = None):
        self._answer, self._close = answer, close
        self._made: OrderedDict[tuple[str, int], asyncio.Task[Execution]] = OrderedDict()

    async def call(self, command: Call, key: str) -> Execution:
        """What the call gives; `seconds` is how long the answer was waited for here.

        Never raises because of arguments or of what a server sends: that is in the execution's status. Raises
        InfrastructureError when trying again later may succeed, SpecError for a tool that does not exist.
        """
        started = time.perf_counter()
        name = command.digest, command.nth
        task = self._made.get(name)
        if task is None:
            task = self._made[name] = asyncio.create_task(self._make(command, key))
            task.add_done_callback(lambda done: self._settle(name, done))
        self._made.move_to_end(name)
        done = await asyncio.shield(task)  # a caller that stops waiting does not stop it for the others
        return replace(done, seconds=time.perf_counter() - started)

    async def close(self) -> None:
        """Stop what is under way and close connections."""
        running = [task for task in self._made.values() if not task.done()]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        self._made.clear()
        if self._close is not None:
            await self._close()

    async def _make(self, command: Call, key: str) -> Execution:
        try:
            done = await self._answer(command, key)
            values = tuple(storable_json(dict(value)) for value in done.values)
            if len(json.dumps(values)) > MAX_CHARACTERS:
                raise ActionError("too_large", f"an answer may have {MAX_CHARACTERS:,} characters, this has more")
        except ActionError as error:
            return Execution(error.kind, message=storable(str(error))[0])
        return replace(done, result=storable(done.result)[0], message=storable(done.message)[0], values=values)

    def _settle(self, name: tuple[str, int], done: asyncio.Task[Execution]) -> None:
        """Forget a failure at once, and beyond what is kept the answers not asked for the longest."""
        if (done.cancelled() or done.exception() is not None) and self._made.get(name) is done:
            del self._made[name]
        spare = len(self._made) - MAX_KEPT
        if spare > 0:
            for old in [one for one, task in self._made.items() if task.done()][:spare]:
                del self._made[old]


def describe_call(command: Call) -> str:
    """The call on one line, for messages."""
    arguments = ", ".join(
        f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in sorted(command.arguments.items())
    )
    return f"{command.tool}({arguments[:200]})"
