"""The base class of sessions that call functions: it finds functions, answers Finish, and refuses invalid calls."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lumos_queue.actions.tools.answers import SHOWN, envelope, observe
from lumos_queue.actions.tools.finish import read_finish, read_toolbench_finish
from lumos_queue.actions.tools.functions import FINISH, Function
from lumos_queue.actions.tools.protocols import TOOLBENCH, escape_observation
from lumos_queue.actions.tools.statuses import ANSWERED, code_of
from lumos_queue.actions.tools.task_functions import functions_of_task
from lumos_queue.episode import StepContext
from lumos_queue.errors import ActionError
from lumos_queue.records import Action, Execution, Task
from lumos_queue.util.sanitize import storable


class FunctionSession:
    """The session of one episode. Subclasses implement `call`, which calls a function."""

    def __init__(self, task: Task, limit: int):
        self._task = task
        self._limit = limit  #: characters of an answer that a model gets
        self._functions: Mapping[str, Function] | None = None

    async def execute(self, action: Action, context: StepContext) -> Execution:
        """Run one action. Raises errors of models' servers and the network, but none for a bad call or a bad answer."""
        start = time.perf_counter()
        is_toolbench = context.protocol == TOOLBENCH
        try:
            if action.name == FINISH.name:
                execution = _finish((read_toolbench_finish if is_toolbench else read_finish)(action.arguments))
            else:
                execution = await self.call(action, context)
        except ActionError as error:
            execution = self._refusal(error)
        if is_toolbench:
            execution = escape_observation(execution, self._limit)
        return replace(execution, seconds=time.perf_counter() - start)

    async def call(self, action: Action, context: StepContext) -> Execution:
        """Call the function that an action names. Raises ActionError for a mistake of the model."""
        raise NotImplementedError

    async def close(self) -> None:
        """Do nothing: no resource is open."""

    def find(self, name: str) -> Function:
        """Return the task's function of exactly this name. Raises ActionError of kind 'unknown_action'."""
        if self._functions is None:
            self._functions = functions_of_task(self._task)
        if name not in self._functions:
            raise ActionError("unknown_action", f"there is no function '{name[:80]}'")
        return self._functions[name]

    def _refusal(self, error: ActionError) -> Execution:
        """Return the execution of a call that failed before a function could answer."""
        message = storable(str(error))[0]
        preview, value = observe(envelope(message, ""), code_of(error.kind), self._limit)
        return Execution(error.kind, preview, (value,), message)


def referable_values(action: Action, context: StepContext) -> Mapping[str, Mapping[str, Any]] | None:
    """Return the values that the action may refer to; None if it is not in a plan with numbered calls."""
    return context.variables if action.variables else None


def _finish(answer: str | None) -> Execution:
    """Return the execution of a Finish with this answer; None: the agent gives up."""
    if answer is None:
        preview, value = observe(envelope("", "given up"), code_of("give_up"), SHOWN)
        return Execution("give_up", preview, (value,))
    return Execution("ok", answer, ({"kind": "answer", "text": answer, "ends": True, "code": ANSWERED},))
