"""What sessions that call functions have in common: finding one, Finish, and refusing what cannot be called."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lumos_queue.actions.tools.answers import SHOWN, envelope, observe
from lumos_queue.actions.tools.finish import read_finish
from lumos_queue.actions.tools.functions import FINISH, Function
from lumos_queue.actions.tools.statuses import ANSWERED, code_of
from lumos_queue.actions.tools.task_functions import functions_of_task
from lumos_queue.episode import StepContext
from lumos_queue.errors import ActionError
from lumos_queue.records import Action, Execution, Task
from lumos_queue.util.sanitize import storable


class FunctionSession:
    """One episode. A subclass says what a call of a function gives (`call`)."""

    def __init__(self, task: Task, limit: int):
        self._task = task
        self._limit = limit  #: characters of an answer that a model is shown
        self._functions: Mapping[str, Function] | None = None

    async def execute(self, action: Action, context: StepContext) -> Execution:
        """Raises as models' servers and the network do, and never because of what is called, or what is answered."""
        start = time.perf_counter()
        try:
            execution = _finish(action) if action.name == FINISH.name else await self.call(action, context)
        except ActionError as error:
            execution = self._refusal(error)
        return replace(execution, seconds=time.perf_counter() - start)

    async def call(self, action: Action, context: StepContext) -> Execution:
        """Call the function that an action names. Raises ActionError for what a model did wrong."""
        raise NotImplementedError

    async def close(self) -> None:
        """Nothing is held."""

    def find(self, name: str) -> Function:
        """The function of exactly this name. Raises ActionError of kind 'unknown_action'."""
        if self._functions is None:
            self._functions = functions_of_task(self._task)
        if name not in self._functions:
            raise ActionError("unknown_action", f"there is no function '{name[:80]}'")
        return self._functions[name]

    def _refusal(self, error: ActionError) -> Execution:
        """What a model is shown when nothing was called, or nothing came of it."""
        message = storable(str(error))[0]
        preview, value = observe(envelope(message, ""), code_of(error.kind), self._limit)
        return Execution(error.kind, preview, (value,), message)


def referable_values(action: Action, context: StepContext) -> Mapping[str, Mapping[str, Any]] | None:
    """What references stand for; None where the action is not of a plan with numbered calls, and has none."""
    return context.variables if action.variables else None


def _finish(action: Action) -> Execution:
    answer = read_finish(action.arguments)
    if answer is None:
        preview, value = observe(envelope("", "given up"), code_of("give_up"), SHOWN)
        return Execution("give_up", preview, (value,))
    return Execution("ok", answer, ({"kind": "answer", "text": answer, "ends": True, "code": ANSWERED},))
