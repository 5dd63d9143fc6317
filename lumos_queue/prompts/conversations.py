"""Convert gold solutions to the conversations that an agent has at inference.

The formulation's own generator runs with the gold results, so the texts of training and inference are equal byte for
byte. A row of a file is `{"dataset", "id", "messages": [{"role", "content"}]}`, as in the released LUMOS files, or
`{"prompt", "completion"}`, the builds' format `trl-sft`, which is a single reply to a complete prompt.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from lumos_queue.commands import Ask, Command, Commands, Do, Result
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.dialogue import ASSISTANT, FRAMINGS, USER, Turn, render
from lumos_queue.prompts.gold_replies import GoldSolution, Replies
from lumos_queue.records import Annotation, Completion, Ending, Execution, FinishReason, Outcome, Task
from lumos_queue.util.exchange import Exchange
from lumos_queue.util.regular_file import open_regular_text
from lumos_queue.util.untrusted_json import read_json

ROLES = ("user", "assistant")
TRAIN = FRAMINGS["train"]


@dataclass(frozen=True, slots=True)
class Conversation:
    """The conversation with a role in an episode. `dataset`: such as `wordmath/iterative/planner`. A user begins."""

    dataset: str
    id: str
    turns: tuple[Turn, ...]

    def text(self) -> str:
        """Return the whole conversation in `train` framing, without `<s>`, which the tokenizer adds."""
        return render(self.turns, "train")

    def pieces(self) -> Iterator[tuple[str, bool]]:
        """Yield the text of each turn, and whether training learns it.

        Learnt are the assistant's content, the `</s>` and the newline after it (spec 3.5); the last reply has no
        newline.
        """
        for turn in self.turns[:-1]:
            yield TRAIN.write(turn), turn.role == "assistant"
        yield TRAIN.write(self.turns[-1]).rstrip("\n"), True

    def iterate_texts(self) -> Iterator[str]:
        """Yield the texts of the turns, without the marks of turns."""
        return (turn.content for turn in self.turns)

    def as_json(self) -> str:
        messages = [{"role": turn.role, "content": turn.content} for turn in self.turns]
        return json.dumps({"dataset": self.dataset, "id": self.id, "messages": messages}, ensure_ascii=False)


class SingleReply(Conversation):
    """A reply to a complete prompt in `train` framing; training learns only the reply.

    A system's turn and earlier replies are part of the prompt. The object has two turns, the prompt and the reply.
    """

    __slots__ = ()

    @classmethod
    def of(cls, prompt: str, completion: str, number: int) -> SingleReply:
        return cls("", str(number), (Turn("user", prompt), Turn("assistant", completion)))

    def text(self) -> str:
        return "".join(piece for piece, _ in self.pieces())

    def pieces(self) -> Iterator[tuple[str, bool]]:
        prompt, reply = self.turns
        yield prompt.content, False
        yield TRAIN.write(reply).rstrip("\n"), True

    def iterate_texts(self) -> Iterator[str]:
        prompt, reply = self.turns
        yield prompt.content.replace(f"{TRAIN.after_reply}{USER}", f"\n{USER}")
        yield reply.content

    def as_json(self) -> str:
        prompt, reply = self.turns
        return json.dumps({"prompt": prompt.content, "completion": reply.content}, ensure_ascii=False)


class Trainable(Protocol):
    """The part of a formulation (formulations/base.py) that this module needs to write conversations."""

    @property
    def name(self) -> str: ...

    @property
    def executes(self) -> bool: ...

    @property
    def write_gold(self) -> Callable[[GoldSolution], Replies] | None: ...

    def __call__(self, task: Task, agent: Agent, /) -> Commands[Outcome]: ...


def gold_conversations(
    task: Task,
    annotation: Annotation,
    formulation: Trainable,
    agent: Agent,
    rationale: str = "",
    own_replies: Mapping[str, list[str]] | None = None,
) -> list[Conversation]:
    """Return the conversation of each role in an episode that follows `annotation`, the gold solution.

    `rationale`: the text before the answer, for a formulation that `reasons`. `own_replies`: by role, the replies of a
    model, which replace those of the gold solution. The limit of subgoals has no effect, because a reply states the
    end. Raises SpecError if the generator does not accept the gold replies unchanged.
    """
    asks: dict[str, list[Ask]] = {}
    replies: dict[str, list[str]] = {}
    if own_replies is None:
        if formulation.write_gold is None:
            raise SpecError(f"No gold solution determines the replies of the formulation '{formulation.name}'.")
        own_replies = formulation.write_gold(GoldSolution(annotation, agent.domain, rationale, task.inputs))
    gold = {role: iter(texts) for role, texts in own_replies.items()}
    steps = annotation.steps if formulation.executes else ()
    results = [pair for step in steps for pair in zip(step.actions, step.results, strict=True)][::-1]
    ends_by_action = DOMAINS.load(agent.domain).ends_by_action
    agent = replace(agent, max_subgoals=len(annotation.steps) + 1)
    exchange = Exchange(formulation(task.without_gold(), agent))

    def answer(command: Command) -> Result:
        if isinstance(command, Ask):
            text = next(gold[command.role], None)
            if text is None:
                raise SpecError(f"The gold solution of task {task.row} has too few replies of the {command.role}.")
            asks.setdefault(command.role, []).append(command)
            replies.setdefault(command.role, []).append(text)
            return Completion(text, FinishReason.STOP)
        if not isinstance(command, Do):
            return None
        if not results:
            raise SpecError(f"The gold solution of task {task.row} has too few actions.")
        (action, result), read = results.pop(), command.action
        if (action.variables, action.name, action.arguments) != (read.variables, read.name, read.arguments):
            raise SpecError(f"The action '{action.raw}' of task {task.row} changes when it is written and read again.")
        ends = ends_by_action and not results
        return Execution("ok", result, tuple({"text": result, "ends": ends} for _ in action.variables))

    for command in exchange:
        exchange.reply = list(map(answer, command)) if isinstance(command, list) else answer(command)
    outcome = exchange.returned
    if outcome.ending != Ending.ANSWERED or results:
        problem = f": {outcome.message}" if outcome.message else ""
        raise SpecError(f"The gold solution of task {task.row} ends as {outcome.ending}{problem}.")
    return [
        Conversation(
            f"{task.benchmark}/{formulation.name}/{role}", task.row, _turns([ask.prompt for ask in asks], replies[role])
        )
        for role, asks in asks.items()
    ]


def _turns(prompts: list[str], replies: list[str]) -> tuple[Turn, ...]:
    """Return the turns of a conversation, in which each prompt continues the earlier prompt and its reply.

    Raises SpecError unless the turns in `train` framing equal the prompts byte for byte.
    """
    turns: list[Turn] = []
    for prompt, reply in zip(prompts, replies, strict=True):
        new = prompt.removeprefix("".join(map(TRAIN.write, turns)))
        turns.append(Turn("user", new.removeprefix(USER).removesuffix("\n" + ASSISTANT)))
        if render(turns, "train") != prompt:
            raise SpecError(f"A prompt is not in train framing: {new[:80]!r}.")
        turns.append(Turn("assistant", reply))
    return tuple(turns)


def write_conversations(conversations: Iterable[Conversation], path: Path) -> int:
    """Write the conversations as JSON lines. Return their number."""
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for conversation in conversations:
            file.write(conversation.as_json() + "\n")
            count += 1
    return count


def read_conversations(path: Path) -> Iterator[Conversation]:
    """Yield the conversations of a training file. Raises BadRow with row and field, and SpecError without a file."""
    if not path.is_file():
        raise SpecError(f"No file '{path}'. Expected JSON lines with 'messages', or 'prompt' and 'completion'.")
    with open_regular_text(path) as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                row = _read_row(line, number)
                single = isinstance(row, Mapping) and "completion" in row
                yield _read_reply(row, number) if single else _read_messages(row, number)


def read_conversation(line: str, number: int) -> Conversation:
    """Read a conversation from a line, which is row `number` of its file. Raises BadRow for an invalid line."""
    return _read_messages(_read_row(line, number), number)


def _read_row(line: str, number: int) -> Any:
    try:
        return read_json(line)
    except ValueError as error:
        raise BadRow(number, "", f"is not JSON: {error}") from None


def _read_reply(row: Mapping[str, Any], number: int) -> SingleReply:
    for name in ("prompt", "completion"):
        if not isinstance(row.get(name), str) or not row[name].strip():
            raise BadRow(number, name, "expected a text")
    return SingleReply.of(row["prompt"], row["completion"], number)


def _read_messages(row: Any, number: int) -> Conversation:
    messages = row.get("messages") if isinstance(row, Mapping) else None
    if not isinstance(messages, list) or not messages or len(messages) % 2:
        raise BadRow(
            number, "messages", "expected a list of user and assistant messages in turn, ending with assistant"
        )
    for position, message in enumerate(messages):
        role = ROLES[position % 2]
        if not isinstance(message, Mapping) or message.get("role") != role:
            raise BadRow(number, "messages", f"expected role '{role}' at place {position + 1}")
        if not isinstance(message.get("content"), str):
            raise BadRow(number, "messages", f"expected text as content at place {position + 1}")
    turns = tuple(Turn(message["role"], message["content"]) for message in messages)
    return Conversation(str(row.get("dataset", "")), str(row.get("id", number)), turns)
