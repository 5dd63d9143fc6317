"""Run a formulation as an episode: recorded results come from the journal, new commands are performed and recorded.

So a resumed episode is a replay: after a crash the same generator runs over the stored results up to its last step, and
no recorded model call is repeated.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeVar

from lumos_queue.commands import (
    KEPT_DIGITS,
    WITHIN,
    ActionLog,
    Approve,
    Ask,
    Call,
    Command,
    Commands,
    Do,
    Final,
    Path,
    Result,
    Step,
    Variables,
)
from lumos_queue.errors import ApprovalPending, EpisodeError
from lumos_queue.notation import without_roles
from lumos_queue.records import Action, Completion, Execution, Json, JsonObject, Outcome, Task
from lumos_queue.util.exchange import Exchange
from lumos_queue.util.task_group import run_together

A = TypeVar("A", contravariant=True)
STRETCH = 64  #: steps after which other episodes get a turn, even if no step has waited


class Journal(Protocol):
    """The recorded steps of one attempt at an episode."""

    def find(self, position: int, branch: int) -> tuple[str, Result] | None:
        """Return the first KEPT_DIGITS of the recorded command's digest, and its result, or None without a record."""
        ...

    def record(self, step: Step) -> None:
        """Record a step. It may become durable later, but not after the episode's result.

        An Approve without a result is kept as a question: `find` returns None until it has an answer.
        """
        ...

    def keep(self, data: bytes, media_type: str) -> str:
        """Keep an artifact that the next step names, and return its sha256. It becomes durable with that step."""
        ...

    def find_kept(self, digest: str) -> bytes | None:
        """Return the bytes of an artifact that this process has kept recently (stored or not), or None."""
        ...

    async def wait_for_capacity(self) -> None:
        """Wait until a further step can be kept: steps may arrive faster than a disk writes them."""
        ...


class Diverged(Exception):
    """Raised when a replayed command differs from the recorded one, as the code has changed. A new attempt begins."""


class Generate(Protocol[A]):
    """A formulation as a function: it gets a task and an agent, and returns the generator of an episode."""

    def __call__(self, task: Task, agent: A, /) -> Commands[Outcome]: ...


@dataclass(slots=True)
class StepContext:
    """The step of an episode at which a command is carried out, with the functions that an action may use."""

    position: int
    branch: int
    #: The variables of the actions so far. In a tree search: of the actions on the path from the root.
    variables: Variables = field(default_factory=dict[str, JsonObject])
    done: Sequence[tuple[Action, Execution]] = ()  #: these actions, in order; a session is rebuilt from them
    step: Callable[[Command, int, int], Awaitable[Result]] | None = None  #: carries out a command at position, branch
    final: Final | None = None  #: of this action
    #: Every action of the episode so far, with position and branch, including other branches and running actions.
    requested: Sequence[tuple[int, int, Action]] = ()
    journal: Journal | None = None  #: keeps the bytes that the result of the command names
    subgoal: str = ""  #: the text of the latest Note; '': none
    load_stored: Callable[[str], Awaitable[bytes]] | None = None  #: loads the artifact with that sha256
    protocol: str = ""  #: of the command, if it is a Do
    _within: int = 0

    async def ask(self, role: str, prompt: str, images: tuple[str, ...] = ()) -> Completion:
        """Ask a model from an action, as a separate step that is replayed. Await calls one by one, in a fixed order."""
        completion = await self._carry_out(Ask(role, without_roles(prompt), images))
        assert isinstance(completion, Completion)
        return completion

    async def call(self, tool: str, /, *, nth: int = 0, **arguments: Json) -> Execution:
        """Call an external tool from an action, as a separate step that is replayed. `nth`: earlier equal calls."""
        execution = await self._carry_out(Call(tool, arguments, nth))
        assert isinstance(execution, Execution)
        return execution

    def keep(self, data: bytes, media_type: str) -> str:
        """Keep bytes such as an image, and return their sha256, by which the command's result must name them."""
        assert self.journal is not None, "this context belongs to no episode"
        return self.journal.keep(data, media_type)

    async def load(self, digest: str) -> bytes:
        """Return the bytes of an artifact of the task or an earlier result. Raises EpisodeError if it is unknown."""
        assert self.journal is not None and self.load_stored is not None, "this context belongs to no episode"
        content = self.journal.find_kept(digest)
        return await self.load_stored(digest) if content is None else content

    async def _carry_out(self, command: Command) -> Result:
        assert self.step is not None, "this context belongs to no episode"
        self._within += 1
        # A command of an action is a step at the action's position. Its branch is 1000, 1001, … for the action at
        # branch 0, and 2000, 2001, … for branch 1: no action has such a branch itself.
        return await self.step(command, self.position, WITHIN * (self.branch + 1) + self._within - 1)


class Perform(Protocol):
    """Carries out one command."""

    async def __call__(self, command: Command, context: StepContext, /) -> Result: ...


@dataclass(frozen=True, slots=True)
class EpisodeRun:
    """An episode that has ended."""

    outcome: Outcome
    actions: Sequence[tuple[Action, Execution]]  #: in order
    approved: str = ""  #: the plan that a person approved last; empty: none


class _Steps:
    """Carries out the steps of an episode, except recorded steps, whose recorded results it returns.

    A recursive closure instead of this class would keep the episode's objects until a garbage collection.
    """

    def __init__(self, journal: Journal, perform: Perform):
        self.log = ActionLog()
        self._journal, self._perform = journal, perform

    async def take(self, command: Command, position: int, branch: int, path: Path | None = None) -> Result:
        journal, log = self._journal, self.log
        if record := journal.find(position, branch):
            if record[0] != command.digest[:KEPT_DIGITS]:
                raise Diverged(f"step {position}.{branch} is recorded for another command")
            return record[1]
        await journal.wait_for_capacity()
        if isinstance(command, Do) and command.parent is not None:
            path = log.path(command.parent)
        actions, variables = path or (log.actions, log.variables)
        within = partial(self.take, path=path) if path else self.take  # commands of an action are on its path
        final = command.final if isinstance(command, Do) else None
        context = StepContext(position, branch, variables, actions, within, final, log.requested, journal, log.subgoal)
        result = await self._perform(command, context)
        journal.record(Step(position, branch, command, result))
        if isinstance(command, Approve) and result is None:
            raise ApprovalPending("a person has to approve what is shown first")
        return result


async def run_episode(formulation: Generate[A], task: Task, agent: A, journal: Journal, perform: Perform) -> EpisodeRun:
    """Run `formulation` on `task` to its end.

    Raises InfrastructureError when the episode will be retried, its subclass ApprovalPending when it waits for a
    person, and Diverged when the journal belongs to other code.
    """
    steps = _Steps(journal, perform)
    log = steps.log
    exchange = Exchange(formulation(task.without_gold(), agent))
    try:
        for position, request in enumerate(exchange):
            if isinstance(request, list):
                log.request(position, request)
                replies = await run_together(
                    [steps.take(command, position, branch) for branch, command in enumerate(request)]
                )
                for command, result in zip(request, replies, strict=True):
                    log.add(position, command, result)
                exchange.reply = replies
            else:
                log.request(position, (request,))
                exchange.reply = await steps.take(request, position, 0)
                log.add(position, request, exchange.reply)
            if position % STRETCH == STRETCH - 1:
                await asyncio.sleep(0)
        outcome = exchange.returned
    except EpisodeError as error:
        outcome = Outcome(None, error.ending, str(error))
    return EpisodeRun(outcome, log.actions, log.approved)
