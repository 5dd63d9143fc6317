"""Run the experts of one episode: read the inputs that an action names, and return its results as a value."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from lumos_queue.actions.experts.values import Values, read_items, read_values, show
from lumos_queue.episode import StepContext
from lumos_queue.errors import ActionError
from lumos_queue.experts.base import Expert, Kind
from lumos_queue.experts.catalogue import EXPERTS
from lumos_queue.experts.originals import Originals, follow, origins_of_channel
from lumos_queue.records import Action, Execution, Task
from lumos_queue.util.sanitize import storable
from lumos_queue.util.untrusted_json import read_json

MAX_ARGUMENTS = 2000  #: characters
EXAMPLE = '["image"]'


@dataclass(frozen=True, slots=True)
class Run:
    """One run of an expert on the samples that have a value for each slot (input) of the expert."""

    expert: Expert
    inputs: tuple[Values, ...]  #: for each slot
    samples: tuple[int, ...]  #: those that it runs on
    originals: Originals | None = None  #: of the task's benchmark, where it generates its data


class ExpertRunner(Protocol):
    """The expert actions of a job, as a session uses them."""

    def is_oracle(self, expert: Expert) -> bool:
        """Return whether the expert's backend is an oracle, which returns the original instead of a model's output."""
        ...

    def originals_of(self, task: Task) -> Originals | None:
        """Return the access to the task's inputs before augmentation; None if no benchmark generated the task."""
        ...

    async def call(self, run: Run, context: StepContext) -> Execution:
        """Run an expert as a recorded call. Raises ActionError if the expert has no backend."""
        ...


class ExpertSession:
    """A session without state: values are in the task and in the variables."""

    def __init__(self, actions: ExpertRunner, task: Task):
        self._actions, self._task = actions, task

    async def execute(self, action: Action, context: StepContext) -> Execution:
        """Run one action. Raises InfrastructureError if a server or the database fails; never for a model's mistake."""
        start = time.perf_counter()
        try:
            value = await self._run(action, context)
        except ActionError as error:
            message = storable(str(error))[0]
            return Execution(error.kind, message=message, seconds=time.perf_counter() - start)
        return Execution("ok", value["text"], (value,), seconds=time.perf_counter() - start)

    async def close(self) -> None:
        """Do nothing: the session has no resources."""

    async def _run(self, action: Action, context: StepContext) -> Mapping[str, Any]:
        if action.name not in EXPERTS:
            raise ActionError("unknown_action", f"there is no expert '{action.name[:80]}'")
        if len(action.variables) != 1:
            raise ActionError("arity", f"{len(action.variables)} variables for the one value of an expert")
        expert = EXPERTS[action.name]
        names = _read_names(expert, action.arguments)
        inputs = tuple(self._find(name, context) for name in names)
        _check_inputs(expert, inputs)
        samples = tuple(
            n for n in range(len(inputs[0].items)) if all(slot_values.items[n] is not None for slot_values in inputs)
        )
        run = Run(expert, inputs, samples, self._actions.originals_of(self._task))
        items: list[str | None] = [None] * len(inputs[0].items)
        problems = {n: _inherit(n, names, inputs) for n in range(len(items)) if n not in samples}
        images: Sequence[bytes] = ()
        if samples:
            execution = await self._actions.call(run, context)
            images = await self._collect(execution, run, items, problems, context)
        values = Values(expert.output, tuple(items), problems, self._follow(run, items))
        return values.as_json(show(values, images))

    async def _collect(
        self, execution: Execution, run: Run, items: list[str | None], problems: dict[int, str], context: StepContext
    ) -> Sequence[bytes]:
        """Write a call's outputs to `items` and `problems`. Return the first image's bytes in a list, or ()."""
        if not execution.ok:
            raise ActionError(execution.status, execution.message)
        (outputs,) = execution.values
        for index, sample in enumerate(run.samples):
            items[sample] = outputs["items"][index]
            if items[sample] is None:
                problems[sample] = outputs["problems"].get(str(index), "no value")
        if run.expert.output is not Kind.IMAGE:
            return ()
        first = next((output for output in items if output is not None), None)
        return () if first is None else [await context.load(first)]

    def _find(self, name: str, context: StepContext) -> Values:
        """Return the value of the variable, or of the task's channel, of this name. Raises ActionError without both."""
        if name in context.variables:
            return read_values(context.variables[name])
        if any(name in action.variables and not execution.ok for action, execution in context.done):
            raise ActionError("skipped", f"{name} has no value, as what should set it failed")
        channels = self._task.inputs.get("channels")
        for channel in channels if isinstance(channels, list) else ():
            if isinstance(channel, Mapping) and channel.get("name") == name and channel.get("kind") in tuple(Kind):
                kind = Kind(channel["kind"])
                items = read_items(kind, channel.get("values"))
                origins = origins_of_channel(self._task.inputs.get("sources"), name, len(items))
                return Values(kind, items, {}, origins)
        raise ActionError("undefined_variable", f"neither a channel of the task nor a variable: '{name[:80]}'")

    def _follow(self, run: Run, items: Sequence[str | None]) -> tuple[Any, ...]:
        """Return the origins of an oracle's outputs; () for other experts, whose outputs have no origin."""
        if run.originals is None or not self._actions.is_oracle(run.expert):
            return ()
        output_origins: list[Any] = [None] * len(items)
        for sample in run.samples:
            if items[sample] is not None:
                origins = [slot_values.origins[sample] if slot_values.origins else None for slot_values in run.inputs]
                output_origins[sample] = follow(run.expert, origins, run.originals)
        return tuple(output_origins)


def _read_names(expert: Expert, arguments: str) -> tuple[str, ...]:
    """Return the names of an expert's inputs, one for each slot. Raises ActionError for other arguments."""
    try:
        names = read_json(arguments) if len(arguments) <= MAX_ARGUMENTS else None
    except ValueError:
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ActionError("invalid_arguments", f"a JSON list of names was expected, such as {EXAMPLE}")
    if len(names) != len(expert.slots):
        slot_names = " and ".join(slot.name for slot in expert.slots)
        raise ActionError("invalid_arguments", f"'{expert.name}' takes {slot_names}, and gets {len(names)} values")
    return tuple(names)


def _check_inputs(expert: Expert, inputs: Sequence[Values]) -> None:
    for slot, value in zip(expert.slots, inputs, strict=True):
        if value.kind != slot.kind:
            raise ActionError("wrong_type", f"'{expert.name}' takes {slot.kind} as {slot.name}, and gets {value.kind}")
    if len({len(slot_values.items) for slot_values in inputs}) > 1:
        raise ActionError("bad_value", "the inputs have different numbers of samples")


def _inherit(sample: int, names: Sequence[str], inputs: Sequence[Values]) -> str:
    """Return why a sample was not run."""
    name, value = next(
        (name, slot_values)
        for name, slot_values in zip(names, inputs, strict=True)
        if slot_values.items[sample] is None
    )
    problem = value.problems.get(sample, "the task has none")
    return problem if problem.startswith("no value of ") else f"no value of {name}: {problem}"
