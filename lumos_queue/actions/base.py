"""The protocols of action interfaces, their sessions and their local tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from lumos_queue.episode import StepContext, Variables
from lumos_queue.records import Action, Execution, Task

#: A function of this project that answers a Call. It gets the call's arguments, the number of equal calls that came
#: before in the episode, and the context, through which it may ask models. The status of the execution reports errors.
LocalTool = Callable[[Mapping[str, Any], int, StepContext], Awaitable[Execution]]


class Session(Protocol):
    """The state of one episode: a shop, a copy of a database, the pages that a search returned, or no state."""

    async def execute(self, action: Action, context: StepContext) -> Execution:
        """Run one action. Questions to models and calls of servers go through `context`, which records them.

        A session that has run fewer actions than `context.done` was resumed: it first repeats those actions, and
        raises Diverged if their results differ from the recorded ones.
        An error in the action's text raises nothing: the execution's status reports it.
        """
        ...

    async def close(self) -> None:
        """Release the resources of this episode."""
        ...


class ActionInterface(Protocol):
    """The actions of one domain, as a job uses them.

    `local_tools` maps names to LocalTools. An interface has it if it answers calls itself, from records or a generator.
    `model_addresses(tools)`, a static method, returns the addresses of the models that the options name, by role. An
    interface has it if its options name models; a person gives the addresses of `roles` with `--role`.
    `read_records(deployment)` lets an interface answer from the database. An interface has it if it reads records.
    """

    domain: str  #: names the dialogue's domain, e.g. 'maths'
    roles: tuple[str, ...]  #: the roles of the models that its actions ask, e.g. 'qa'
    defaults: Mapping[str, str]  #: name of an option to its default, for reports

    @staticmethod
    def prepare(tools: Mapping[str, str]) -> dict[str, str]:
        """Return the domain's options, checked at submission, with absolute paths and the sha256 of each file.

        Raises SpecError for an option that cannot be used.
        """
        ...

    def begin(self, task: Task) -> Session:
        """Return the session for an episode of the task, which contains no gold answer.

        The first action makes slow preparations, not this method.
        """
        ...

    async def close(self) -> None:
        """End the helper processes that this interface started."""
        ...


class StatelessActions(ActionInterface, Protocol):
    """An interface whose actions depend only on the variables, so that they can run outside an episode."""

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
        """Do nothing: the session has no resources."""
