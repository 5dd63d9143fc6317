"""What a formulation may yield: ask a model, do an action, note something down; and what an action may: ask, call.

A list of commands is carried out concurrently; its results come back as a list in the same order.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lumos_queue.records import Action, Completion, Execution, Subgoal


def digest(*parts: str) -> str:
    """sha256 of the parts, each preceded by its length so that no two lists of parts collide."""
    hasher = hashlib.sha256()
    for part in parts:
        data = part.encode()
        hasher.update(b"%d:" % len(data))
        hasher.update(data)
    return hasher.hexdigest()


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the model that plays `role` to continue `prompt`. Answered by a Completion."""

    role: str
    prompt: str
    images: tuple[str, ...] = ()  #: shown with the prompt: sha256 of artifacts

    @property
    def digest(self) -> str:
        return digest("ask", self.role, self.prompt, *self.images)


@dataclass(frozen=True, slots=True)
class Final:
    """What is asked instead of its own question by an action whose answer is the agent's (actions/qa/interface.py)."""

    answer_by: str  #: as the agent has it: 'qa' or 'yes/no'
    subgoal: str = ""  #: the one that the action belongs to, without its label


@dataclass(frozen=True, slots=True)
class Do:
    """Run an action. Answered by an Execution."""

    action: Action
    final: Final | None = None  #: of the last action, where it answers for the agent

    @property
    def digest(self) -> str:
        action, final = self.action, self.final
        last = (final.answer_by, final.subgoal) if final else ()
        return digest("do", ", ".join(action.variables), action.name, action.arguments, *last)


@dataclass(frozen=True, slots=True)
class Call:
    """Call a tool outside: over the network. Answered by an Execution. What is recorded is never called again."""

    tool: str
    arguments: Mapping[str, Any]  #: JSON

    @property
    def digest(self) -> str:
        return digest("call", self.tool, json.dumps(dict(self.arguments), sort_keys=True))


@dataclass(frozen=True, slots=True)
class Note:
    """Write a subgoal down, for the people who read the trajectory. Answered by None."""

    subgoal: Subgoal

    @property
    def digest(self) -> str:
        return digest("note", str(self.subgoal.number), self.subgoal.text)


Command = Ask | Do | Call | Note
Result = Completion | Execution | None


@dataclass(frozen=True, slots=True)
class Step:
    """One command with its result. `position` counts the yields, `branch` the place in a concurrent list.

    What an action asks or calls on its way stands at the action's position, at branches from `WITHIN` on.
    """

    position: int
    branch: int
    command: Command
    result: Result


WITHIN = 1000  #: the k-th command within the action at branch b has the branch WITHIN * (b + 1) + k
