"""What every action interface offers, on one screen."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from lumos_queue.episode import StepContext, Variables
from lumos_queue.records import Action, Execution, Task

#: Answers a Call from within this project: gets its arguments, how many equal calls of the episode came before, and the
#: context, through which it may ask models. What it was asked is in the status, as with a call outside.
LocalTool = Callable[[Mapping[str, Any], int, StepContext], Awaitable[Execution]]


class Session(Protocol):
    """The world of one episode: a shop, a copy of a database, the pages that were found; or nothing at all."""

    async def execute(self, action: Action, context: StepContext) -> Execution:
        """Run one action. What it asks or calls outside goes through `context`, where it is recorded.

        A world that has seen fewer actions than `context.done` was resumed: it first carries those out again, and
        raises Diverged when they do not give what is recorded.
        Never raises on account of the action's text: what the model did wrong is in the execution's status.
        """
        ...

    async def close(self) -> None:
        """Give back what this episode holds."""
        ...


class ActionInterface(Protocol):
    """The actions of one domain, as a job uses them.

    One that answers calls itself, from records or a generator, has `local_tools`: name to LocalTool.
    """

    domain: str  #: names the dialogue's domain, e.g. 'maths'
    roles: tuple[str, ...]  #: of the models that its actions ask, e.g. 'qa'
    defaults: Mapping[str, str]  #: what its options are when they are not given, for reports

    @staticmethod
    def prepare(tools: Mapping[str, str]) -> dict[str, str]:
        """The domain's options, checked at submission: absolute paths, each file's sha256 beside it. Or SpecError."""
        ...

    def begin(self, task: Task) -> Session:
        """The world of an episode of this task, which comes without gold. Cheap: what is slow waits for an action."""
        ...

    async def close(self) -> None:
        """End the helper processes this interface started."""
        ...


class StatelessActions(ActionInterface, Protocol):
    """An interface whose actions depend on nothing but the variables, so that they can run outside any episode."""

    async def execute(self, action: Action, variables: Variables) -> Execution:
        """Run one action. `variables` maps `R1` to the JSON value of the execution that set it."""
        ...


class Stateless:
    """The session of an interface whose actions depend on the variables alone."""

    def __init__(self, actions: StatelessActions):
        self._actions = actions

    async def execute(self, action: Action, context: StepContext) -> Execution:
        return await self._actions.execute(action, context.variables)

    async def close(self) -> None:
        """Nothing is held."""
