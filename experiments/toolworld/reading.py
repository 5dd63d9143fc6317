"""What a scripted policy can know of a ToolWorld task: only what it reads in its prompt.

A prompt is a transcript (policy) or a state (router). Of a prompt that was cut, what is left is read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from experiments.tool_agents.reading import SeenCall, View, value_in
from lumos_queue.actions.tools.world import ANSWERS
from lumos_queue.benchmarks.toolworld.catalogue import read_description

LIMITED, LOCKED, MADE_BEFORE = "too many requests", "is locked", "was made before"
_FUNCTION = re.compile(r"^(\w+)\((\w+): string\): (.*)$", re.MULTILINE)
_REQUEST = re.compile(r"^Request: Find (.*)$", re.MULTILINE)
_PART = re.compile(r"\([1-9]\) ((?:the \w+ of )+)the (\w+) ([A-Z]{2}-[0-9]{3,5})")
_RIGHT_NAME = re.compile(r"has no argument '\w+'; its arguments: '(\w+)'")


@dataclass(frozen=True, slots=True)
class ListedFunction:
    """A function as the prompt lists it."""

    name: str
    parameter: str
    kind: str  #: of API: ANSWERS, or a look-alike's
    of: str
    gives: str


@dataclass(frozen=True, slots=True)
class Part:
    """One thing that is asked for: what is followed from an id, the first step first."""

    kind: str
    start: str
    gives: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Missing:
    """The first step of a part that is not known yet."""

    of: str
    argument: str
    gives: str


class WorldView:
    """A prompt, read."""

    def __init__(self, prompt: str):
        self._prompt, self._view = prompt, View(prompt)

    @cached_property
    def functions(self) -> list[ListedFunction]:
        functions = []
        for name, parameter, description in _FUNCTION.findall(self._prompt):
            if (read := read_description(description)) is not None:
                functions.append(ListedFunction(name, parameter, *read))
        return functions

    @cached_property
    def parts(self) -> list[Part]:
        """What is asked for; nothing where the request is not in sight."""
        match = _REQUEST.search(self._prompt)
        return [
            Part(kind, start, tuple(reversed(re.findall(r"the (\w+) of ", names))))
            for names, kind, start in _PART.findall(match[1] if match else "")
        ]

    @cached_property
    def seen(self) -> list[SeenCall]:
        """The calls that the prompt tells of, in a tree those that were tried from here as well."""
        return self._view.seen

    @cached_property
    def tried_here(self) -> list[SeenCall]:
        """Calls that were made from here before, in a tree: something else is to be done."""
        return self._view.tried_here

    @cached_property
    def facts(self) -> dict[tuple[str, str], str]:
        """(argument, what is asked for) to the value that an API told of it."""
        by_name = {function.name: function for function in self.functions}
        facts = {}
        for call in self.seen:
            function = by_name.get(call.function)
            if function is None or function.kind != ANSWERS or value_in(call.message, function.of) != call.argument:
                continue
            if value := value_in(call.message, function.gives):
                facts[call.argument, function.gives] = value
        return facts

    def follow(self, part: Part) -> tuple[str, Missing | None]:
        """As far as a part is known: where it has come, and what is missing; None at its end."""
        kind, thing = part.kind, part.start
        for gives in part.gives:
            if (thing, gives) not in self.facts:
                return thing, Missing(kind, thing, gives)
            kind, thing = gives, self.facts[thing, gives]
        return thing, None

    def calls(self, function: ListedFunction, argument: str) -> list[SeenCall]:
        return [call for call in self.seen if (call.function, call.argument) == (function.name, argument)]


def right_name(calls: list[SeenCall]) -> str:
    """The name of the argument that the API asked for instead, where only its error is known; '' else."""
    names = [match[1] if (match := _RIGHT_NAME.search(call.message)) else "" for call in calls]
    return names[-1] if names and all(names) else ""
