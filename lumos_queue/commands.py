"""What a formulation may yield: ask a model, do an action, note something down, have a person approve; and what an
action may: ask, call.

    plan = yield from Ask("planner", prompt)

gives the result with its type; `yield Ask("planner", prompt)` is the same command. A list of commands is carried out
concurrently; its results come back as a list in the same order.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator, Hashable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from lumos_queue.records import Action, Completion, Execution, Subgoal, record

R = TypeVar("R")
Variables = Mapping[str, Mapping[str, Any]]  #: what actions have set: name to JSON value
REFUSED = "refused"  #: status of what a person did not approve
KEPT_DIGITS = 32  #: of a command's digest that a journal keeps: 128 bits
ROOT = -1  #: the `parent` of the commands that a tree begins with
_write_sorted = json.JSONEncoder(sort_keys=True).encode  # made once, not for each command


def digest(*parts: str) -> str:
    """sha256 of the parts, each preceded by its length so that no two lists of parts collide."""
    return hashlib.sha256(b"".join(map(_with_length, parts))).hexdigest()


class Digest:
    """A digest of parts that come one by one: `digest` of all of them, without holding them."""

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
    """Which texts a reply may be: an automaton over pieces of text, in which every state leads to an end. Frozen.

    Whoever decodes turns pieces into tokens (endpoints/token_constraint.py); who only has a text asks `accepts`.
    """

    @property
    def digest(self) -> str:
        """Of all that decides which texts are allowed: part of the digest of an Ask."""
        ...

    def as_json(self) -> dict[str, Any]:
        """What another process makes it of."""
        ...

    def start(self) -> Hashable: ...

    def pieces(self, state: Hashable, /) -> Mapping[str, Hashable]:
        """The texts, none of them empty, that may follow, each with the state that it leads to."""
        ...

    def may_end(self, state: Hashable, /) -> bool: ...

    def accepts(self, text: str, /) -> bool:
        """Whether the whole text is allowed: the answer of a server is judged by this."""
        ...

    def regex(self) -> str:
        """For servers that take one: it matches every allowed text, and may match others. Without captures."""
        ...


@record
class FunctionSchema:
    """A function that a model may call by its server's own interface (`tools` of OpenAI's)."""

    name: str
    description: str
    parameters: str  #: JSON schema of an object, as text


@record
class Ask:
    """Ask the model in the role `role` to continue `prompt`. Answered by a Completion.

    >>> import lumos_queue as lq
    >>> @lq.formulation(roles=("solver",), executes=False)
    ... def one_question(task, agent):
    ...     reply = yield from lq.Ask("solver", task.question)
    ...     return lq.Outcome(reply.text, lq.Ending.ANSWERED)
    """

    role: str
    prompt: str
    images: tuple[str, ...] = ()  #: shown with the prompt: sha256 of artifacts
    parent: int | None = None  #: position of the command that this one comes after in a tree, or ROOT; None: no tree
    constraint: Constraint | None = None  #: which texts the reply may be; None: any
    n: int = 1  #: candidates that the completion lists, best first
    functions: tuple[FunctionSchema, ...] = ()  #: that the model may call; the reply's text has the call as three lines

    @property
    def digest(self) -> str:
        # Nothing is added for what is not asked for: asks of before there were constraints keep their digests.
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
    """What is asked instead of its own question by an action whose answer is the agent's (actions/qa/interface.py)."""

    answer_by: str  #: the agent's setting: 'qa' or 'yes/no'
    subgoal: str = ""  #: the one that the action belongs to, without its label


@record
class Do:
    """Run an action. Answered by an Execution.

    >>> import lumos_queue as lq
    >>> @lq.formulation(roles=("grounder",))
    ... def one_action(task, agent):
    ...     reply = yield from lq.Ask("grounder", f"{task.question} R1 = ")
    ...     execution = yield from lq.Do(lq.read_actions(f"R1 = {reply.text}")[0])
    ...     return lq.Outcome(execution.result, lq.Ending.ANSWERED if execution.ok else lq.Ending.ACTION_ERROR)
    """

    action: Action
    final: Final | None = None  #: of the last action, where it answers for the agent
    parent: int | None = None  #: as of an Ask: the action sees what was done on its path from the root

    @property
    def digest(self) -> str:
        action, final = self.action, self.final
        last = (final.answer_by, final.subgoal) if final else ()
        return digest("do", ", ".join(action.variables), action.name, action.arguments, *last, *_edge(self.parent))

    def __iter__(self) -> Generator[Do, Replies, Execution]:
        execution = yield self
        assert isinstance(execution, Execution)
        return execution


@record
class Call:
    """Call an external tool, over the network. Answered by an Execution. What is recorded is never called again."""

    tool: str
    arguments: Mapping[str, Any]  #: JSON
    #: How many equal calls of the episode came before, for tools whose answers to them differ. Not in the digest: a
    #: record of the call is found by what was asked. Nor is it stored: it follows from the earlier steps, so that an
    #: episode that goes on counts as it would have, and what is recorded is not called again.
    nth: int = 0

    @property
    def digest(self) -> str:
        return digest("call", self.tool, _write_sorted(dict(self.arguments)))


@record
class Note:
    """Record a subgoal, for the people who read the trajectory. Answered by None.

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
    """Have a person decide whether what is shown may be done. Answered by an Execution: `ok`, or `refused`.

    Its `result` is the person's note, its value says by whom. Until there is an answer the episode waits, and holds no
    worker. Not one of a list: what runs beside it would be given up.
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
    """What a person's answer is to the formulation that asked for it."""
    return Execution("ok" if yes else REFUSED, note, ({"text": who},))


def _edge(parent: int | None) -> tuple[str, ...]:
    """What a digest says of a command's place in a tree: nothing where there is none, as before there were trees."""
    return () if parent is None else (f"after {parent}",)


Command = Ask | Do | Call | Note | Approve
Result = Completion | Execution | None
Replies = Result | list[Result]  #: what is sent for a command, or for a list of them
#: A generator that yields commands, is sent their results, and returns an R; of a formulation, an Outcome.
Commands = Generator[Command | list[Command], Replies, R]


@record
class Step:
    """One command with its result. `position` counts the yields, `branch` is the index in a concurrent list.

    What an action asks or calls while it runs has the action's position, and branches from `WITHIN` on.
    """

    position: int
    branch: int
    command: Command
    result: Result


WITHIN = 1000  #: the k-th command within the action at branch b has the branch WITHIN * (b + 1) + k


#: What an action sees: the actions before it, in a tree those from the root to it, and the variables they have set.
Path = tuple[Sequence[tuple[Action, Execution]], Variables]


class ActionLog:
    """The actions of an episode so far, and where in a tree they were done."""

    def __init__(self) -> None:
        self.actions: list[tuple[Action, Execution]] = []  #: in order
        self.variables: dict[str, Mapping[str, Any]] = {}  #: as they have set them
        self.requested: list[tuple[int, int, Action]] = []  #: with position and branch; those under way, too
        self.approved = ""  #: what a person approved last
        self._parents: dict[int, int] = {}
        self._executions: dict[int, list[tuple[Action, Execution]]] = {}  # by position

    def request(self, position: int, commands: Sequence[Command]) -> None:
        """Take in commands that are to be carried out. Raises ValueError for one that comes after no step of a tree."""
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
        """Take in a command that was carried out."""
        if isinstance(command, Ask | Do) and command.parent is not None:
            self._parents[position] = command.parent
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
        """The actions from the root of a tree to this position, that included."""
        positions = []
        while position != ROOT:
            positions.append(position)
            position = self._parents[position]
        actions = [pair for position in reversed(positions) for pair in self._executions.get(position, ())]
        variables: dict[str, Mapping[str, Any]] = {}
        for action, execution in actions:
            _set_variables(variables, action, execution)
        return actions, variables


def _set_variables(variables: dict[str, Mapping[str, Any]], action: Action, execution: Execution) -> None:
    """What an action's variables are after it: unchanged when it has failed."""
    if execution.ok:
        variables.update(zip(action.variables, execution.values, strict=False))
