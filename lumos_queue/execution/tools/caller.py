"""Answer calls of external tools: get each different answer once, and share it among equal calls.

An equal call gets the answer of the first, also while the first still runs. Calls are equal if their tool, arguments
and `Call.nth` are equal, so an episode can repeat a call. A call that failed because of the network is forgotten, so
that a retry makes it again.
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

#: Makes a call with its key, and returns its result. May raise ActionError and InfrastructureError.
Answer = Callable[[Call, str], Awaitable[Execution]]

MAX_KEPT = 256  #: answers in memory
MAX_CHARACTERS = 1_000_000  #: of an answer, as JSON
UNMADE = ("live_refused", "not_recorded")  #: statuses of calls that were not made and cannot be replayed


class Caller:
    """Answers calls by `answer`, which gets each different call once. A caller belongs to one event loop."""

    def __init__(self, answer: Answer, close: Callable[[], Awaitable[None]] | None = None):
        self._answer, self._close = answer, close
        self._calls: OrderedDict[tuple[str, int], asyncio.Task[Execution]] = OrderedDict()

    async def call(self, command: Call, key: str) -> Execution:
        """Return the result of the call. Its `seconds` are the time that this method waited.

        If arguments or the tool's reply are wrong, the result's status states it. Raises InfrastructureError if a later
        retry may succeed, and SpecError for an unknown tool.
        """
        start = time.perf_counter()
        name = command.digest, command.nth
        task = self._calls.get(name)
        if task is None:
            task = self._calls[name] = asyncio.create_task(self._make(command, key))
            task.add_done_callback(lambda completed_task: self._settle(name, completed_task))
        self._calls.move_to_end(name)
        execution = await asyncio.shield(task)  # another waiting episode may still need it
        return replace(execution, seconds=time.perf_counter() - start)

    async def close(self) -> None:
        """Stop running calls and close connections."""
        active_tasks = [task for task in self._calls.values() if not task.done()]
        for task in active_tasks:
            task.cancel()
        await asyncio.gather(*active_tasks, return_exceptions=True)
        self._calls.clear()
        if self._close is not None:
            await self._close()

    async def _make(self, command: Call, key: str) -> Execution:
        try:
            execution = await self._answer(command, key)
            values = tuple(storable_json(dict(value)) for value in execution.values)
            if len(json.dumps(values)) > MAX_CHARACTERS:
                raise ActionError("too_large", f"an answer may have {MAX_CHARACTERS:,} characters, this has more")
        except ActionError as error:
            return Execution(error.kind, message=storable(str(error))[0])
        return replace(
            execution, result=storable(execution.result)[0], message=storable(execution.message)[0], values=values
        )

    def _settle(self, name: tuple[str, int], completed_task: asyncio.Task[Execution]) -> None:
        """Forget the call if it failed, and the least recently used answers beyond MAX_KEPT."""
        if (completed_task.cancelled() or completed_task.exception() is not None) and self._calls.get(
            name
        ) is completed_task:
            del self._calls[name]
        spare = len(self._calls) - MAX_KEPT
        if spare > 0:
            for old in [call_key for call_key, task in self._calls.items() if task.done()][:spare]:
                del self._calls[old]


def describe_call(command: Call) -> str:
    """Return the call on one line, for messages."""
    arguments = ", ".join(
        f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in sorted(command.arguments.items())
    )
    return f"{command.tool}({arguments[:200]})"
