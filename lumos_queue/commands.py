"""The commands of formulations: ask a model, run an action, record a note, wait for approval. Actions ask and call.

    plan = yield from Ask("planner", prompt)

gives `plan` the type of the result; `yield Ask("planner", prompt)` does the same without the type. If a formulation
yields a list of commands, they are carried out concurrently, and the results are a list in the same order.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator, Hashable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from lumos_queue.records import Action, Completion, Execution, JsonObject, Subgoal, record

R = TypeVar("R")
Variables = Mapping[str, Mapping[str, Any]]  #: the variables of actions: name to JSON value
REFUSED = "refused"  #: status of an Approve that a person refused
KEPT_DIGITS = 32  #: digits of a command's digest that a journal keeps: 128 bits
ROOT = -1  #: the `parent` of the commands that a tree begins with
_write_sorted = json.JSONEncoder(sort_keys=True).encode  # made once, not for each command


def digest(*parts: str) -> str:
    """Return the sha256 of the parts. Each part is preceded by its length, so that no two lists collide."""
    return hashlib.sha256(b"".join(map(_with_length, parts))).hexdigest()


class Digest:
    """Computes the `digest` of parts that are added one by one, without keeping them in memory."""

    def __init__(self, *parts: str):
        self._hash = hashlib.sha256()
        for part in parts:
            self.add(part)

    def add(self, part: str) -> None:
        self._hash.update(_with_length(part))

    def hexdigest(self) -> str:
        return self._hash.hexdigest()


def _with_length(part: str) -> bytes:
    data = part.encode()
    return b"%d:%b" % (len(data), data)


class Constraint(Protocol):
    """The set of allowed replies: an immutable automaton over pieces of text. Every state can reach an end.

    For decoding, endpoints/token_constraint.py converts pieces to tokens; `accepts` checks a whole text.
    """

    @property
    def digest(self) -> str:
        """The digest of everything that decides which texts are allowed. It is a part of an Ask's digest."""
        ...

    def as_json(self) -> JsonObject:
        """Return the JSON from which another process rebuilds the constraint."""
        ...

    def start(self) -> Hashable: ...

    def pieces(self, state: Hashable, /) -> Mapping[str, Hashable]:
        """Return the texts, none of them empty, that may follow in this state, each with the state after it."""
        ...

    def may_end(self, state: Hashable, /) -> bool: ...

    def accepts(self, text: str, /) -> bool:
        """Whether the whole text is allowed. Replies of servers are checked with this method."""
        ...

    def regex(self) -> str:
        """Return a regular expression for servers, without captures. It matches all allowed texts and maybe others."""
        ...


@record
class FunctionSchema:
    """A function that a model may call through its server's interface (the field `tools` of OpenAI's protocol)."""

    name: str
    description: str
    parameters: str  #: JSON schema of an object, as text


@record
class Ask:
    """Ask the model in the role `role` to continue `prompt`. Its result is a Completion.

    >>> import lumos_queue as lq
    >>> @lq.formulation(roles=("solver",), executes=False)
    ... def one_question(task, agent):
    ...     reply = yield from lq.Ask("solver", task.question)
    ...     return lq.Outcome(reply.text, lq.Ending.ANSWERED)
    """

    role: str
    prompt: str
    images: tuple[str, ...] = ()  #: sha256 of the artifacts that are sent with the prompt
    parent: int | None = None  #: position of the preceding command in a tree, or ROOT; None: no tree
    constraint: Constraint | None = None  #: the allowed replies; None: any
    n: int = 1  #: candidates that the completion lists, best first
    functions: tuple[FunctionSchema, ...] = ()  #: functions for the model; the reply's text has a call as three lines

    @property
    def digest(self) -> str:
        # Defaults add nothing, so that asks from before these fields keep their digests.
        constraint_parts = () if self.constraint is None else (f"allowed {self.constraint.digest}",)
        candidate_parts = () if self.n == 1 else (f"best {self.n}",)
        schemas = [
            part for function in self.functions for part in (function.name, function.description, function.parameters)
        ]
        callable_functions = (f"functions {digest(*schemas)}",) if schemas else ()
        parts = (*self.images, *_edge(self.parent), *constraint_parts, *candidate_parts, *callable_functions)
        return digest("ask", self.role, self.prompt, *parts)

    def __iter__(self) -> Generator[Ask, Replies, Completion]:
        completion = yield self
        assert isinstance(completion, Completion)
        return completion


@record
class Final:
    """Marks an action whose answer is the agent's answer: actions/qa/interface.py then asks a different question."""

    answer_by: str  #: the agent's setting: 'qa' or 'yes/no'
    subgoal: str = ""  #: the subgoal of the action, without its label


@record
class Do:
    """Run an action. Its result is an Execution.

    >>> import lumos_queue as lq
    >>> @lq.formulation(roles=("grounder",))
    ... def one_action(task, agent):
    ...     reply = yield from lq.Ask("grounder", f"{task.question} R1 = ")
    ...     execution = yield from lq.Do(lq.read_actions(f"R1 = {reply.text}")[0])
    ...     return lq.Outcome(execution.result, lq.Ending.ANSWERED if execution.ok else lq.Ending.ACTION_ERROR)
    """

    action: Action
    final: Final | None = None  #: of the last action, if it answers for the agent
    parent: int | None = None  #: as of an Ask: the action sees the actions on its path from the root
    protocol: str = ""  #: the rules by which a tool agent's call is read and shown; '': those of this project

    @property
    def digest(self) -> str:
        action, final = self.action, self.final
        last = (final.answer_by, final.subgoal) if final else ()
        protocol = (f"protocol {self.protocol}",) if self.protocol else ()
        parts = (*last, *_edge(self.parent), *protocol)
        return digest("do", ", ".join(action.variables), action.name, action.arguments, *parts)

    def __iter__(self) -> Generator[Do, Replies, Execution]:
        execution = yield self
        assert isinstance(execution, Execution)
        return execution


@record
class Call:
    """Call an external tool, over the network. Its result is an Execution. A recorded call is never repeated."""

    tool: str
    arguments: JsonObject
    #: Number of earlier equal calls of the episode, for tools whose answers to them differ. It is not in the digest, by
    #: which records of the call are found. It is not stored, either: it follows from the earlier steps, so that a
    #: resumed episode counts equally and repeats no recorded call.
    nth: int = 0

    @property
    def digest(self) -> str:
        return digest("call", self.tool, _write_sorted(dict(self.arguments)))


@record
class Note:
    """Record a subgoal, for the people who read the trajectory. Its result is None.

    >>> import lumos_queue as lq
    >>> @lq.formulation(roles=("planner",), executes=False)
    ... def one_plan(task, agent):
    ...     plan = yield from lq.Ask("planner", task.question)
    ...     yield lq.Note(lq.Subgoal(1, plan.text))
    ...     return lq.Outcome(None, lq.Ending.NO_ANSWER)
    """

    subgoal: Subgoal

    @property
    def digest(self) -> str:
        return digest("note", str(self.subgoal.number), self.subgoal.text)


@record
class Approve:
    """Let a person decide whether the plan `shown` may be carried out. Its result is an Execution: `ok` or `refused`.

    The execution's `result` is the person's note, and its value names the person. The episode waits without a worker.
    An Approve must not be in a list of commands, because the wait would abandon the other commands.
    """

    shown: str

    @property
    def digest(self) -> str:
        return digest("approve", self.shown)

    def __iter__(self) -> Generator[Approve, Replies, Execution]:
        answer = yield self
        assert isinstance(answer, Execution)
        return answer


def write_answer(yes: bool, note: str, who: str) -> Execution:
    """Return a person's answer as the result of an Approve."""
    return Execution("ok" if yes else REFUSED, note, ({"text": who},))


def _edge(parent: int | None) -> tuple[str, ...]:
    """Return the digest's part for a command's position in a tree; () outside trees, so that old digests stay valid."""
    return () if parent is None else (f"after {parent}",)


Command = Ask | Do | Call | Note | Approve
Result = Completion | Execution | None
Replies = Result | list[Result]  #: the result of a command, or the results of a list of commands
#: A generator that yields commands, receives their results, and returns an R; a formulation returns an Outcome.
Commands = Generator[Command | list[Command], Replies, R]


@record
class Step:
    """A command with its result. `position` counts the formulation's yields; `branch` is the index in a yielded list.

    Commands that an action carries out have the action's position, and branches from `WITHIN` on.
    """

    position: int
    branch: int
    command: Command
    result: Result


WITHIN = 1000  #: the k-th command within the action at branch b has the branch WITHIN * (b + 1) + k


#: The actions before an action, in a tree those on its path from the root, and the variables that they have set.
Path = tuple[Sequence[tuple[Action, Execution]], Variables]


class ActionLog:
    """The actions of an episode so far, and their positions in a tree."""

    def __init__(self) -> None:
        self.actions: list[tuple[Action, Execution]] = []  #: in order
        self.variables: dict[str, Mapping[str, Any]] = {}  #: the variables that they have set
        self.requested: list[tuple[int, int, Action]] = []  #: with position and branch, including running actions
        self.approved = ""  #: the plan that a person approved last
        self.subgoal = ""  #: the text of the latest Note
        self._parents: dict[int, int] = {}
        self._executions: dict[int, list[tuple[Action, Execution]]] = {}  # by position

    def request(self, position: int, commands: Sequence[Command]) -> None:
        """Add commands before they are carried out. Raises ValueError if a command's parent is not a step of a tree."""
        for branch, command in enumerate(commands):
            parent = command.parent if isinstance(command, Ask | Do) else None
            if parent is not None and parent != ROOT and parent not in self._parents:
                raise ValueError(
                    f"step {position} names the parent {parent}, which is no step of a tree: expected {ROOT} for the "
                    "root, or the position of an earlier Ask or Do that names a parent itself"
                )
            if isinstance(command, Do):
                self.requested.append((position, branch, command.action))

    def add(self, position: int, command: Command, result: Result) -> None:
        """Add a command that was carried out."""
        if isinstance(command, Ask | Do) and command.parent is not None:
            self._parents[position] = command.parent
        if isinstance(command, Note):
            self.subgoal = command.subgoal.text
        if not isinstance(result, Execution):
            return
        if isinstance(command, Approve) and result.ok:
            self.approved = command.shown
        if isinstance(command, Do):
            self.actions.append((command.action, result))
            _set_variables(self.variables, command.action, result)
            if command.parent is not None:
                self._executions.setdefault(position, []).append((command.action, result))

    def path(self, position: int) -> Path:
        """Return the actions from the root of a tree to this position, inclusive, and the variables that they set."""
        positions: list[int] = []
        while position != ROOT:
            positions.append(position)
            position = self._parents[position]
        actions = [pair for position in reversed(positions) for pair in self._executions.get(position, ())]
        variables: dict[str, Mapping[str, Any]] = {}
        for action, execution in actions:
            _set_variables(variables, action, execution)
        return actions, variables


def _set_variables(variables: dict[str, Mapping[str, Any]], action: Action, execution: Execution) -> None:
    """Set the variables that an action assigns. If the action has failed, change nothing."""
    if execution.ok:
        variables.update(zip(action.variables, execution.values, strict=False))
