"""Write and read the messages of a path through a search, which ToolBench's files have for training (`train_messages`).

There is a list of messages for each decision of the path: the messages to the model, then its reply. If the model was
asked several times at a point of the search, each later list has a message about the earlier decisions at this point.
Such a message was sent only once. ToolBench's files, however, have the last such message of a path in all later lists,
and so do the lists of this module. The wording of these messages is read from the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lumos_queue.compat.toolbench.trees import RecordedDecision, path_to

UNKNOWN_FUNCTION = 1  #: ToolBench's code of a call of an unknown function
SENTINEL = "invalid_hallucination_function_name"  #: replaces the name of such a function in messages
Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Wording:
    """The texts in the messages of a file that do not follow from its decisions."""

    system: str = ""
    user: str = ""
    #: number of a decision to its message about earlier decisions
    messages: Mapping[int, str] = field(default_factory=dict)


def messages_of(decisions: Sequence[RecordedDecision], last: int, wording: Wording) -> list[list[Message]]:
    """Return the list of messages for each decision on the path to the decision `last`."""
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
    """Read the texts that do not follow from the decisions from `lists`, the lists of messages in a file."""
    if last is None or not lists or len(lists[0]) < 2:
        return Wording()
    texts: dict[int, str] = {}
    list_iterator = iter(lists)
    for number in path_to(decisions, last):
        if len(messages := list(next(list_iterator, ()))) >= 2 and was_tried(decisions, number):
            texts[number] = _content(messages[-2])
    return Wording(_content(lists[0][0]), _content(lists[0][1]), texts)


def was_tried(decisions: Sequence[RecordedDecision], number: int) -> bool:
    """Whether an earlier decision at the same point led to a call, so that the model was sent a message about it."""
    siblings = (index for index in range(number) if decisions[index].before == decisions[number].before)
    return any(_leads_to_call(decisions, index) for index in siblings)


def alone(decisions: Sequence[RecordedDecision], last: int) -> list[RecordedDecision]:
    """Return only the decisions on the path to `last`, numbered anew, because messages do not mention other tries."""
    return [replace(decisions[number], before=index) for index, number in enumerate(path_to(decisions, last), start=-1)]


def _leads_to_call(decisions: Sequence[RecordedDecision], number: int) -> bool:
    """Whether a decision makes a call, or the path from it along the first successors contains one."""
    while not decisions[number].name:
        successor = next((index for index in range(number + 1, len(decisions)) if decisions[index].before == number), 0)
        if not successor:
            return False
        number = successor
    return True


def _visible_messages(history: Sequence[Message]) -> list[Message]:
    """Return the messages without those that were sent only once, except the last of these."""
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
