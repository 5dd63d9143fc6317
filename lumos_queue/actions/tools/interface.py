"""The domain `tools`: functions of documented APIs, and Finish."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any

from lumos_queue.actions.base import LocalTool
from lumos_queue.actions.tools.answer_source import LIVE, STRICT, AnswerSource, find_answer
from lumos_queue.actions.tools.answers import SHOWN, Answer, body_of, observe
from lumos_queue.actions.tools.arguments import read_arguments
from lumos_queue.actions.tools.functions import Function
from lumos_queue.actions.tools.options import open_records, prepare_tools, read_limit
from lumos_queue.actions.tools.records import Records, records_of
from lumos_queue.actions.tools.session import FunctionSession, referable_values
from lumos_queue.actions.tools.statuses import status_of_call
from lumos_queue.actions.tools.world import World, WorldAnswers, read_world
from lumos_queue.episode import StepContext
from lumos_queue.errors import ActionError
from lumos_queue.records import Action, Execution, Task
from lumos_queue.settings import Settings

API = "api"  #: the tool in the call of a function
ANSWERS = "answers"  #: the task's input with recorded answers
WORLD = "world"  #: the task's input that describes its generated APIs (world.py)


class ToolActions:
    """Calls the functions of a task's APIs, with the options in options.py. answer_source.py finds the answers."""

    domain = "tools"
    roles: tuple[str, ...] = ()  #: only answers=simulated uses the role 'simulator'
    defaults: Mapping[str, str] = {"answers": STRICT, "observation": str(SHOWN)}

    def __init__(self, tools: Mapping[str, str] | None = None, settings: Settings | None = None):
        """Raises SpecError if the file of records is missing, or has changed since submission."""
        tools = tools or {}
        self.mode, self.limit = tools.get("answers", STRICT), read_limit(tools)
        self.server, self.records = tools.get("server", ""), open_records(tools)
        self.local_tools: Mapping[str, LocalTool] = {} if self.mode == LIVE else {API: self._answer}

    @staticmethod
    def prepare(tools: Mapping[str, str]) -> dict[str, str]:
        return prepare_tools(tools)

    def begin(self, task: Task) -> ToolSession:
        return ToolSession(self, task)

    async def close(self) -> None:
        """Do nothing: no resource is open."""

    async def _answer(self, arguments: Mapping[str, Any], nth: int, context: StepContext) -> Execution:
        """Answer a call of the tool API from records, else from the source that the option `answers` names."""
        function, own_sources = _ASKED.get() or (_bare_function(arguments), ())
        try:
            answer = await find_answer(
                self.mode, function, arguments["arguments"], nth, (*own_sources, self.records), context
            )
        except RecursionError:
            answer = Answer("the document of this function is nested too deeply", status="tool_error")
        return answer.execution()


#: The function that is called, and the task's own sources of answers: the session passes them to `ToolActions`, because
#: a call contains the API's names alone.
_ASKED: ContextVar[tuple[Function, Sequence[AnswerSource]] | None] = ContextVar("function that is called", default=None)


class ToolSession(FunctionSession):
    """The session of one episode. It has no state: the episode's actions show how often a request was made."""

    def __init__(self, actions: ToolActions, task: Task):
        super().__init__(task, actions.limit)
        self._actions = actions
        self._records: Records | None = None
        self._world: World | None = None
        self._bad = 0  #: entries among the task's answers that are no answers

    async def call(self, action: Action, context: StepContext) -> Execution:
        function = self.find(action.name)
        arguments = read_arguments(function, action.arguments, referable_values(action, context))
        request: dict[str, Any] = {"category": function.category, "tool": function.tool, "api": function.api}
        if self._actions.server:
            request["server"] = self._actions.server
        sources: tuple[AnswerSource, ...] = (self._open_records(),)
        if (world := self._open_world()) is not None:
            is_locked = world.is_locked(function, self._find_earlier(context))
            if is_locked:
                request["locked"] = True  # a locked API has another answer, so the recorded call must differ
            sources = (*sources, WorldAnswers(world, is_locked))
        nth = self._count_earlier(action.name, arguments, context)
        token = _ASKED.set((function, sources))
        try:
            execution = await context.call(API, nth=nth, **request, arguments=arguments)
        finally:
            _ASKED.reset(token)
        body, code = body_of(execution)
        preview, value = observe(body, code, self._limit)
        message = execution.message
        if self._bad and not execution.ok:
            message = f"{message}; {self._bad:,} of the answers that the task brings along cannot be read"
        return Execution(status_of_call(execution.status), preview, (value,), message, provenance=execution.provenance)

    def find(self, name: str) -> Function:
        """Return the function as its server checks requests, which in a generated world may contradict its document."""
        function, world = super().find(name), self._open_world()
        return function if world is None else world.serve(function)

    def _open_world(self) -> World | None:
        """Return the generated APIs of the task, or None without them. Raises ActionError if they cannot be read."""
        if self._world is None and WORLD in self._task.inputs:
            try:
                self._world = read_world(self._task.inputs[WORLD])
            except ValueError as error:
                raise ActionError("tool_error", f"the generated APIs of this task cannot be read: {error}") from None
        return self._world

    def _find_earlier(self, context: StepContext) -> list[Function]:
        """Return the functions of the successful calls that lead to this step; in a tree, those on its path."""
        return [self.find(action.name) for action, execution in context.done if execution.ok and not execution.ends]

    def _open_records(self) -> Records:
        """Return the task's own recorded answers."""
        if self._records is None:
            self._records, self._bad = records_of(self._task.inputs.get(ANSWERS))
        return self._records

    def _count_earlier(self, name: str, arguments: Mapping[str, Any], context: StepContext) -> int:
        """Return the number of earlier equal requests of the episode, in the order of steps, on all branches."""
        return sum(
            (position, branch) < (context.position, context.branch)
            and action.name == name
            and self._arguments(action, context) == arguments
            for position, branch, action in context.requested
        )

    def _arguments(self, action: Action, context: StepContext) -> Mapping[str, Any] | None:
        """Return the arguments of an earlier action; None if they are invalid, so that no request was made."""
        try:
            return read_arguments(self.find(action.name), action.arguments, referable_values(action, context))
        except ActionError:
            return None


def _bare_function(arguments: Mapping[str, Any]) -> Function:
    """Return the function of a call that was not made by a session: it has names, but no document."""
    names = [str(arguments.get(name, "")) for name in ("category", "tool", "api")]
    return Function("", names[0], names[1], names[2])
