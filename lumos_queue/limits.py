"""Limits of an episode: the calls, tokens, actions and steps after which a formulation has to end.

`limit_formulation` counts calls, tokens and actions of all commands, recorded or new, so that a resumed episode ends
where it would have ended without the interruption. Replies that come with the task (prefill.py) count as calls without
tokens, so that an episode that begins in the middle ends where the whole episode would. Model calls of actions and of
the judge do not count. A formulation counts steps and depth itself, and asks its `Limits` whether they are reached.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from lumos_queue.commands import Ask, Commands, Do
from lumos_queue.episode import Generate
from lumos_queue.errors import EpisodeError, SpecError
from lumos_queue.records import Completion, Ending, Outcome, Task
from lumos_queue.util.exchange import Exchange

A = TypeVar("A")
UNITS = ("nodes", "calls")
MAX_STEPS = 200  #: of a path without a limit: a model that never finishes would continue until memory is full


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of an episode. 0 means no limit; MAX_STEPS and the formulation's own limits remain."""

    calls: int = 0  #: requests to models
    tokens: int = 0  #: of prompts and replies together
    actions: int = 0
    steps: int = 0  #: decisions: of a router, or turns of a policy
    depth: int = 0  #: of a tree, in `unit`
    unit: str = "nodes"  #: of depth: nodes (thought, action and action input are a node each, as in ToolBench) or calls

    def __post_init__(self) -> None:
        """Raise SpecError for a negative limit and for an unknown unit."""
        for name in COUNTED:
            if getattr(self, name) < 0:
                raise SpecError(f"The limit '{name}' must not be negative: 0 is no limit.")
        if self.unit not in UNITS:
            raise SpecError(f"The unit of depth must be one of {', '.join(UNITS)}, not '{self.unit[:40]}'.")

    def as_json(self) -> dict[str, Any]:
        """Return the limits that differ from the default."""
        default = asdict(Limits())
        return {name: value for name, value in asdict(self).items() if value != default[name]}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Limits:
        return cls(**value)

    def is_deep(self, nodes: int, calls: int) -> bool:
        """Whether a path of a tree with this many nodes and calls must end."""
        return bool(self.depth) and (nodes if self.unit == "nodes" else calls) >= self.depth

    def allows_step(self, number: int) -> bool:
        """Whether step `number`, counted from 1, is allowed."""
        return number <= (self.steps or MAX_STEPS)


COUNTED = ("calls", "tokens", "actions", "steps", "depth")


class LimitReached(EpisodeError):
    """Raised in a formulation, at the command that exceeds a limit. The formulation may still return an answer."""

    def __init__(self, unit: str, limit: int):
        super().__init__(Ending.LIMIT, f"the limit of {limit:,} {unit} is reached")


def limit_formulation(formulation: Generate[A], limits: Limits) -> Generate[A]:
    """Return a formulation that runs `formulation`, but raises LimitReached in it at a command that exceeds a limit.

    A list of commands is carried out completely or not at all.
    """

    def generate(task: Task, agent: A) -> Commands[Outcome]:
        calls = tokens = actions = 0
        exchange = Exchange(formulation(task, agent))
        for request in exchange:
            commands = request if isinstance(request, list) else [request]
            asks = sum(isinstance(command, Ask) for command in commands)
            does = sum(isinstance(command, Do) for command in commands)
            if limits.calls and asks and calls + asks > limits.calls:
                exchange.error = LimitReached("model calls", limits.calls)
            elif limits.tokens and asks and tokens >= limits.tokens:
                exchange.error = LimitReached("tokens", limits.tokens)
            elif limits.actions and does and actions + does > limits.actions:
                exchange.error = LimitReached("actions", limits.actions)
            else:
                exchange.reply = yield request
                calls, actions = calls + asks, actions + does
                for reply in exchange.reply if isinstance(exchange.reply, list) else [exchange.reply]:
                    if isinstance(reply, Completion):
                        tokens += reply.prompt_tokens + reply.completion_tokens
        return exchange.returned

    return generate
