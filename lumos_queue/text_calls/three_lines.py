"""Read and write replies of tool agents: a thought, a function's name and its arguments, on three lines.

    Thought: The order's number is known, so its state can be looked up.
    Action: state_for_orders
    Action Input: {"number": 17}

Reading never raises, because every text is a Reply. Text behind the arguments, for example an observation that the
model invented, is not read. Since version 3 of the formulations, the lines may have the Markdown of instruct models
(marked_calls.py), and an unreadable call is not made. All versions read lines without Markdown in the same way.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from lumos_queue.text_calls.marked_calls import find_call, read_thought

_LABEL = re.compile(r"^[ \t]*(Thought|Action Input|Action|Observation)[ \t]*:[ \t]*", re.MULTILINE | re.IGNORECASE)
_DECODER = json.JSONDecoder(strict=False)  # line breaks within strings are common
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")
Labels = list[tuple[str, int, int]]  #: each label in lower case, where it begins, and where what it labels begins
MAX_REPLY = 100_000  #: characters that are read
STOP = "\nObservation:"  #: where a reply that goes on by itself is cut off
MARKED = 3  #: version of the formulations from which on replies are read through Markdown


@dataclass(frozen=True, slots=True)
class Reply:
    """The decision of a model. If it names no function, it is only a thought."""

    thought: str
    action: str = ""
    arguments: str = ""  #: as written: a JSON object, if the model keeps to its instructions
    problem: str = ""  #: why a call cannot be read, as text for the model; there is no action then


def read_reply(text: str, version: int = MARKED, is_cut: bool = False) -> Reply:
    """Return the first decision of a reply, as the formulations of that version read it.

    `is_cut`: whether the reply ends at the limit of tokens. Since version 3, such a reply with a name without arguments
    makes no call, because the arguments may be missing.
    """
    text = text[:MAX_REPLY]
    if version < MARKED:
        return _read_exact(text)
    call = find_call(text)
    if call is None:
        return Reply(read_thought(text))
    if call.problem:
        return Reply(read_thought(text), problem=call.problem)
    if is_cut and not call.arguments.strip():
        return Reply(read_thought(text), problem=f"the reply was cut off before the arguments of '{call.name}'")
    return Reply(call.thought or read_thought(text[: call.start]), call.name, call.arguments)


def _read_exact(text: str) -> Reply:
    """Return the decision as versions 1 and 2 read it: the first `Action:` directly before an `Action Input:`.

    If there is no such pair, the first line `Action:` with only a name is a call without arguments.
    """
    labels = [(match[1].lower(), match.start(), match.end()) for match in _LABEL.finditer(text)]
    actions = [index for index, label in enumerate(labels) if label[0] == "action"]
    action_index = next((index for index in actions if _has_input(text, labels, index)), None)
    index = action_index
    if index is None:
        index = next((index for index in actions if _NAME.fullmatch(_line(text, labels[index][2]))), None)
    if index is None:
        return Reply(_read_thought(text, labels, len(text)))
    name = _line(text, labels[index][2]).strip("`\"' ")
    arguments = _read_arguments(text, labels, index + 1) if action_index is not None else ""
    return Reply(_read_thought(text, labels, labels[index][1]), name, arguments)


def write_reply(reply: Reply) -> str:
    """Return the three lines; a reply without an action has one line."""
    lines = [f"Thought: {reply.thought}"] if reply.thought else []
    if reply.action:
        lines += [f"Action: {reply.action}", f"Action Input: {reply.arguments}"]
    return "\n".join(lines)


def _has_input(text: str, labels: Labels, index: int) -> bool:
    """Whether the next label is `Action Input:`, with only a line of text before it."""
    if index + 1 == len(labels) or labels[index + 1][0] != "action input":
        return False
    return "\n" not in text[labels[index][2] : labels[index + 1][1]].strip()


def _line(text: str, start: int) -> str:
    return text[start:].split("\n", 1)[0].strip()


def _read_thought(text: str, labels: Labels, end: int) -> str:
    """Return the text before the action, without the label `Thought:`."""
    begin = labels[0][2] if labels and labels[0][0] == "thought" and not text[: labels[0][1]].strip() else 0
    return text[begin:end].strip()


def _read_arguments(text: str, labels: Labels, index: int) -> str:
    """Return the JSON object after the label, else the text up to the next label."""
    begin = text[labels[index][2] :].lstrip()
    if begin.startswith("{"):
        try:
            _, end = _DECODER.raw_decode(begin)
            return begin[:end]
        except (ValueError, RecursionError):
            pass
    end = labels[index + 1][1] if index + 1 < len(labels) else len(text)
    return text[labels[index][2] : end].strip()


def same_call(first: tuple[str, str], second: tuple[str, str]) -> bool:
    """Whether two calls, (name, arguments as written), are equal, ignoring the order of arguments."""
    return first[0] == second[0] and canonical(first[1]) == canonical(second[1])


def canonical(arguments: str) -> str:
    """Return JSON arguments with sorted keys and normal spaces; in any other text, make all spaces single."""
    try:
        return json.dumps(json.loads(arguments or "{}", strict=False), sort_keys=True, ensure_ascii=False)
    except (ValueError, RecursionError):
        return " ".join(arguments.split())
