"""The messages of a path through a search, as ToolBench's files keep them for training (`train_messages`).

One list for each decision of the path: what the model was told, and its reply last. From the second decision at a
point on, a message tells what was tried there before. It was sent only then, but the last one of a path stays in all
later lists: lists are as the files have them, not as they were sent. Its wording comes from the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lumos_queue.compat.toolbench.trees import RecordedDecision, path_to

UNKNOWN_FUNCTION = 1  #: ToolBench's number of a call of a function that there is not
SENTINEL = "invalid_hallucination_function_name"  #: what stands in messages for the name of such a function
Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Wording:
    """What a file says in words of its own."""

    system: str = ""
    user: str = ""
    messages: Mapping[int, str] = field(
        default_factory=dict
    )  #: number of a decision to what it was told of earlier ones


def messages_of(decisions: Sequence[RecordedDecision], last: int, wording: Wording) -> list[list[Message]]:
    """The lists of the path to the decision `last`."""
    history: list[Message] = [_say("system", wording.system), _say("user", wording.user)]
    lists: list[list[Message]] = []
    for number in path_to(decisions, last):
        decision = decisions[number]
        if decision.thought and decision.name and history[-1]["role"] == "assistant":
            # ToolBench's quirk: after a reply without a call its list comes twice
            lists.append(_visible_messages(history))
        if was_tried(decisions, number):
            history.append(_say("user", wording.messages.get(number, "")) | {"valid": False})
        history.append(_reply(decision))
        lists.append(_visible_messages(history))
        if decision.name:
            history.append(_say("function", decision.observation) | {"name": choose_function_name(decision)})
    return lists


def read_wording(
    decisions: Sequence[RecordedDecision], last: int | None, lists: Sequence[Sequence[Message]]
) -> Wording:
    """What the lists of a file say that cannot be known from its decisions."""
    if last is None or not lists or len(lists[0]) < 2:
        return Wording()
    texts: dict[int, str] = {}
    list_iterator = iter(lists)
    for number in path_to(decisions, last):
        if len(messages := list(next(list_iterator, ()))) >= 2 and was_tried(decisions, number):
            texts[number] = _content(messages[-2])
    return Wording(_content(lists[0][0]), _content(lists[0][1]), texts)


def was_tried(decisions: Sequence[RecordedDecision], number: int) -> bool:
    """Whether an earlier decision at the same point has led to a call, so that the model was told of it."""
    siblings = (index for index in range(number) if decisions[index].before == decisions[number].before)
    return any(_leads_to_call(decisions, index) for index in siblings)


def alone(decisions: Sequence[RecordedDecision], last: int) -> list[RecordedDecision]:
    """The decisions of a path without those beside it: of a try, which is told nothing of other tries."""
    return [replace(decisions[number], before=index) for index, number in enumerate(path_to(decisions, last), start=-1)]


def _leads_to_call(decisions: Sequence[RecordedDecision], number: int) -> bool:
    """Whether there is a call on the way from a decision along the first ones that follow."""
    while not decisions[number].name:
        successor = next((index for index in range(number + 1, len(decisions)) if decisions[index].before == number), 0)
        if not successor:
            return False
        number = successor
    return True


def _visible_messages(history: Sequence[Message]) -> list[Message]:
    """The messages with the last of those that were sent once alone."""
    once = [index for index, message in enumerate(history) if message.get("valid") is False]
    return [dict(message) for index, message in enumerate(history) if index not in once[:-1]]


def _reply(decision: RecordedDecision) -> Message:
    message: Message = {"role": "assistant", "content": decision.thought or None}
    if not decision.name:
        return message | {"content": decision.thought}
    return message | {"function_call": {"name": choose_function_name(decision), "arguments": decision.arguments}}


def choose_function_name(decision: RecordedDecision) -> str:
    return SENTINEL if decision.code == UNKNOWN_FUNCTION else decision.name


def _say(role: str, content: str) -> Message:
    return {"role": role, "content": content}


def _content(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else ""
