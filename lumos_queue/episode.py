"""Drive a formulation through an episode. What the journal holds is fed back; what is new is performed and recorded.

So replay is resume: after a crash the same generator runs over the stored results up to where it stopped, and no
recorded model call is made again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from lumos_queue.commands import WITHIN, Ask, Call, Command, Do, Final, Result, Step
from lumos_queue.errors import EpisodeError
from lumos_queue.notation import without_roles
from lumos_queue.records import Action, Completion, Execution, Outcome, Task

STRETCH = 64  #: steps after which other episodes get a turn, even if none of them waited for anything
Variables = Mapping[str, Mapping[str, Any]]


class Journal(Protocol):
    """The recorded steps of one attempt at an episode."""

    def recorded(self, position: int, branch: int) -> tuple[str, Result] | None:
        """The digest of the command recorded there and its result; None where nothing is."""
        ...

    def record(self, step: Step) -> None:
        """Keep a step. It may become durable later, but not after the episode's result does."""
        ...

    async def wait_for_capacity(self) -> None:
        """Returns once a further step can be kept: steps may come faster than a disk takes them."""
        ...


class MemoryJournal:
    """A journal without a database, for examples and tests."""

    def __init__(self, steps: Iterable[Step] = ()):
        self.steps = list(steps)
        self._known = {(step.position, step.branch): (step.command.digest, step.result) for step in self.steps}

    def recorded(self, position: int, branch: int) -> tuple[str, Result] | None:
        return self._known.get((position, branch))

    def record(self, step: Step) -> None:
        self.steps.append(step)

    async def wait_for_capacity(self) -> None:
        """There always is."""


class Diverged(Exception):
    """Raised when a replayed command differs from the recorded one (the code changed): a new attempt must begin."""


#: Gets a task and an agent. Yields commands, is sent their results, returns the outcome.
Formulation = Callable[..., Generator[Command | list[Command], Any, Outcome]]


@dataclass(slots=True)
class StepContext:
    """Where in which episode a command is carried out, and what an action may use there."""

    position: int
    branch: int
    variables: Variables = field(default_factory=dict)  #: as the actions so far have set them
    done: Sequence[tuple[Action, Execution]] = ()  #: the actions so far, in order; what a world is rebuilt from
    step: Callable[[Command, int, int], Awaitable[Result]] | None = None  #: carries out a command at position, branch
    final: Final | None = None  #: of the action that is carried out
    _within: int = 0

    async def ask(self, role: str, prompt: str, images: tuple[str, ...] = ()) -> Completion:
        """Ask a model on the way: a step of its own, replayed like any other. One after another, in a fixed order."""
        done = await self._carry_out(Ask(role, without_roles(prompt), images))
        assert isinstance(done, Completion)
        return done

    async def call(self, tool: str, **arguments: Any) -> Execution:
        """Call a tool outside on the way: a step of its own, replayed like any other."""
        done = await self._carry_out(Call(tool, arguments))
        assert isinstance(done, Execution)
        return done

    async def _carry_out(self, command: Command) -> Result:
        assert self.step is not None, "there is no episode around this place"
        self._within += 1
        return await self.step(command, self.position, WITHIN * (self.branch + 1) + self._within - 1)


#: Carries out one command at a place.
Perform = Callable[[Command, StepContext], Awaitable[Result]]


async def run_episode(formulation: Formulation, task: Task, agent, journal: Journal, perform: Perform) -> Outcome:
    """Run `formulation` on `task` to its end.

    Raises InfrastructureError when the episode is owed again, Diverged when the journal belongs to other code.
    """
    variables: dict[str, Mapping[str, Any]] = {}
    actions: list[tuple[Action, Execution]] = []

    async def step(command: Command, position: int, branch: int) -> Result:
        known = journal.recorded(position, branch)
        if known is None:
            await journal.wait_for_capacity()
            final = command.final if isinstance(command, Do) else None
            result = await perform(command, StepContext(position, branch, variables, actions, step, final))
            journal.record(Step(position, branch, command, result))
        else:
            digest, result = known
            if digest != command.digest:
                raise Diverged(f"step {position}.{branch} is recorded for another command")
        return result

    generator = formulation(task.without_gold(), agent)
    position, reply = 0, None
    try:
        while True:
            wanted = generator.send(reply)
            if isinstance(wanted, list):
                reply = await _together([step(each, position, branch) for branch, each in enumerate(wanted)])
                done = zip(wanted, reply, strict=True)
            else:
                reply = await step(wanted, position, 0)
                done = [(wanted, reply)]
            for command, result in done:
                if isinstance(command, Do) and isinstance(result, Execution):
                    actions.append((command.action, result))
                    if result.ok:
                        variables.update(zip(command.action.variables, result.values, strict=False))
            position += 1
            if position % STRETCH == 0:
                await asyncio.sleep(0)
    except StopIteration as stop:
        return stop.value
    except EpisodeError as error:
        return Outcome(None, error.ending, str(error))
    finally:
        generator.close()


async def _together(steps: Sequence[Coroutine[Any, Any, Result]]) -> list[Result]:
    """The results in order. When one fails the others are stopped first: nothing records into an episode given back."""
    running = [asyncio.ensure_future(step) for step in steps]
    try:
        return await asyncio.gather(*running)
    finally:
        for each in running:
            each.cancel()
        await asyncio.gather(*running, return_exceptions=True)
