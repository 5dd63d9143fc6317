"""What a scripted model can know: only what it reads in its prompt, by the words that are there.

A prompt is a transcript (policy), a state (router), evidence (solver) or the request alone (planner). Of a prompt that
was cut, what is left is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from experiments.tool_agents.questions import Path

_FUNCTION = re.compile(r"^(\w+)_for_(\w+)\((\w+): string\):", re.MULTILINE)
_REQUEST = re.compile(r"^Request: What is (.+?)\?$", re.MULTILINE)
_STEP = re.compile(
    r"Action: (\w+)\nAction Input: (\{[^\n]*\})</s>\n<\|user\|>\nObservation: (.*?)(?=\n\nThis is not the first|\n<\|)",
    re.DOTALL,
)
_RECORD = re.compile(r"^- (\w+) (\{[^\n]*?\}): (.*)$", re.MULTILINE)
_EVIDENCE = re.compile(r"^(#E\d+) = (\w+) (\{[^\n]*?\})\nReturned: (.*)$", re.MULTILINE)
_TRIED = "with what came of them:\n"
LIMITED = "too many requests"  #: what is said of a rate limit


@dataclass(frozen=True, slots=True)
class ListedFunction:
    """A function as the prompt lists it."""

    name: str
    relation: str
    parameter: str


@dataclass(frozen=True, slots=True)
class SeenCall:
    """A call that the prompt tells of, and what came of it."""

    function: str
    argument: str
    message: str

    @property
    def relation(self) -> str:
        return self.function.partition("_for_")[0]

    @property
    def found(self) -> str | None:
        return value_in(self.message, self.relation)


def value_in(text: str, relation: str) -> str | None:
    """Return the related thing that a body, or the state manager's text about it, gives."""
    match = re.search(rf'\b{relation}\b"?: "?([^",}};\n]+)', text)
    return match[1].strip() if match else None


class View:
    """A prompt, read."""

    def __init__(self, prompt: str):
        self._prompt = prompt

    @cached_property
    def functions(self) -> list[ListedFunction]:
        return [
            ListedFunction(match[0][: match[0].index("(")], match[1], match[3])
            for match in _FUNCTION.finditer(self._prompt)
        ]

    @cached_property
    def paths(self) -> list[Path]:
        """What is asked for; nothing where the request is not in sight."""
        match = _REQUEST.search(self._prompt)
        return [_read_path(text) for text in match[1].split(", and what is ")] if match else []

    @cached_property
    def tried_here(self) -> list[SeenCall]:
        """Calls that were made from here before, in a tree: something else is to be done."""
        _, mark, rest = self._prompt.rpartition(_TRIED)
        if not mark or "<|assistant|>\n" in rest[:-15]:
            return []
        records, _ = json.JSONDecoder().raw_decode(rest)
        return [
            SeenCall(record["name"], _argument(record["arguments"]), record["function_output"]) for record in records
        ]

    @cached_property
    def seen(self) -> list[SeenCall]:
        return [*self._read_calls(), *self.tried_here]

    def _read_calls(self) -> Iterator[SeenCall]:
        for name, arguments, output in _STEP.findall(self._prompt):
            yield SeenCall(name, _argument(arguments), output)
        state = self._prompt.rpartition("\nFailed calls:\n")[2] if "\nFailed calls:\n" in self._prompt else ""
        for name, arguments, output in _RECORD.findall(state):
            yield SeenCall(name, _argument(arguments), output)
        evidence: dict[str, SeenCall] = {}
        for variable, name, arguments, output in _EVIDENCE.findall(self._prompt):
            argument = _argument(arguments)
            number = argument.partition(".")[0]
            if number in evidence:
                argument = evidence[number].found or argument
            evidence[variable] = SeenCall(name, argument, output)
        yield from evidence.values()

    @cached_property
    def facts(self) -> dict[tuple[str, str], str]:
        """(relation, thing in small letters) to what is related."""
        triples = ((call.relation, call.argument.lower(), call.found) for call in self.seen)
        return {(relation, thing): fact for relation, thing, fact in triples if fact}

    def follow(self, path: Path) -> tuple[str, str | None]:
        """As far as a path is known: where it has come, and the next relation; None at its end."""
        thing = path.start
        for relation in path.relations:
            if (relation, thing.lower()) not in self.facts:
                return thing, relation
            thing = self.facts[relation, thing.lower()]
        return thing, None


def _read_path(text: str) -> Path:
    names = []
    while match := re.match(r"the (\w+) of (.*)", text):
        names.append(match[1])
        text = match[2]
    return Path(text, tuple(reversed(names)))


def _argument(text: str) -> str:
    """The value of the one argument of a call; '' where there is none."""
    try:
        arguments = json.loads(text)
    except ValueError:
        return ""
    return str(next(iter(arguments.values()), "")) if isinstance(arguments, dict) else ""
