"""Convert native tool calls in replies to three lines, the form of calls in records, prompts and inputs of judges.

A call runs as it was written, or not at all. If there are several calls, only the first is made;
`count_unmade_calls` counts the others. A reply without a call stays a text. Calls are

1. `tool_calls` of the message, or `function_call` of older servers;
2. `<tool_call>{"name": …, "arguments": {…}}</tool_call>` in the text: the notation of Hermes and Qwen, which stays in
   the text if the server has no parser for it;
3. a text of JSON objects alone, perhaps in a code fence, whose first object is such a call of one of the functions.
   The last of several objects may be unfinished, because the limit of tokens ended it. Objects may have doubled braces
   and follow `<tools>`, as in the template of Qwen2.5-Coder.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

from lumos_queue.commands import FunctionSchema
from lumos_queue.endpoints.tool_messages import is_object, server_names
from lumos_queue.notation import without_roles
from lumos_queue.records import Completion, FinishReason, Json, JsonObject
from lumos_queue.text_calls.three_lines import MAX_REPLY, Reply, read_reply, write_reply
from lumos_queue.util.sanitize import storable
from lumos_queue.util.untrusted_json import read_json

MAX_THOUGHT = MAX_REPLY // 2  #: characters of the text beside a call that are retained
MAX_ARGUMENTS = MAX_REPLY // 4  #: characters of arguments that are retained: more than a call may have
MAX_NAME = 100  #: characters of the name of a function: more than any name has
_OPENING, _CLOSING = "<tool_call>", "</tool_call>"
_REASONED = "</think>"  #: the end of reasoning in a stored message: a call before it is a draft
_FENCE = "```"
_TOOLS, _TOOLS_END = "<tools>", "</tools>"
_DECODER = json.JSONDecoder(strict=False)  # line breaks within strings are common
Call = tuple[str, str]  #: name, and the text of the arguments


def with_call(completion: Completion, functions: Sequence[FunctionSchema], is_truncated: bool) -> Completion:
    """Return the completion with its first call written as three lines in its text; unchanged without a call.

    On input, `completion.text` is the text without the calls, and `completion.message` is the server's message as JSON
    if it has more than text. `is_truncated`: the limit of tokens ended the reply. Never raises for any message.
    """
    message = _open_message(completion.message)
    calls = list(_list_calls(message))
    call, thought = _read_listed(calls[0]) if calls else None, completion.text
    if not calls:
        call, thought = _read_written(completion.text, functions)
    if call is None:
        note = "the first tool call has no function's name" if calls else ""
        return replace(completion, note="; ".join(filter(None, (completion.note, note))))
    names = {server_name: name for name, server_name in server_names(functions).items()}
    text, replacement_count = storable(_write(thought, names.get(call[0], call[0]), call[1]))
    return replace(
        completion,
        text=text,
        finish_reason=FinishReason.LENGTH if is_truncated else FinishReason.STOP,
        replaced=completion.replaced + replacement_count,
        message=completion.message or json.dumps({"role": "assistant", "content": completion.text}, ensure_ascii=False),
    )


def count_unmade_calls(completion: Completion) -> int:
    """Return how many calls of a reply, new or stored, are not made: all but the first."""
    message = _open_message(completion.message)
    count = sum(1 for _ in _list_calls(message))
    content = message.get("content")
    if not count and isinstance(content, str):
        content = content.rpartition(_REASONED)[2]
        count = content.count(_OPENING) or sum("name" in entry for entry in _read_objects(content))
    return max(0, count - 1)


def has_calls(message: JsonObject) -> bool:
    """Whether a server's message has calls beside its text."""
    return next(_list_calls(message), None) is not None


def _open_message(text: str) -> JsonObject:
    """Return the stored message as an object; {} if it cannot be read."""
    try:
        message: Json = read_json(text or "{}")
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}


def _list_calls(message: JsonObject) -> Iterator[Json]:
    calls = message.get("tool_calls")
    if isinstance(calls, list) and calls:
        yield from (entry.get("function") if isinstance(entry, dict) else None for entry in calls)
    elif message.get("function_call"):
        yield message["function_call"]


def _read_listed(function: Json) -> Call | None:
    """Return name and arguments of a call, or None without a name. The arguments may be text, an object or missing."""
    name = function.get("name") if isinstance(function, dict) else None
    if not isinstance(function, dict) or not isinstance(name, str) or not (name := _plain_name(name)):
        return None
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        return name, _on_lines(arguments.strip() or "{}")
    return name, "{}" if arguments is None else _dump(arguments)


def _on_lines(arguments: str) -> str:
    """Return the arguments with line breaks in their strings escaped, because servers require it."""
    if is_object(arguments):
        return arguments
    try:
        value: Json = read_json(arguments, strict=False)
    except ValueError:
        return arguments
    return _dump(value) if isinstance(value, dict) else arguments


def _plain_name(name: str) -> str:
    return " ".join(name[:MAX_NAME].split()).strip("`\"' ")


def _dump(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):
        return "nested too deeply"


def _read_written(text: str, functions: Sequence[FunctionSchema]) -> tuple[Call | None, str]:
    """Return the first call that is written in the text, or None, and the text before it."""
    before, tag, rest = text.partition(_OPENING)
    if tag:
        try:
            value = read_json(rest.partition(_CLOSING)[0], strict=False)
        except ValueError:
            return None, text
        return _read_object(value), before.strip()
    objects = _read_objects(text)
    call = _read_object(objects[0]) if objects else None
    return (call, "") if call is not None and call[0] in server_names(functions).values() else (None, text)


def _without_fence(text: str) -> str:
    """Return the content of a text that is one code fence or `<tools>` block; return any other text stripped."""
    body = text.strip()
    if body.startswith(_TOOLS):
        body = body.replace(f"{_TOOLS}{_TOOLS_END}", "").strip()
        if body.startswith(_TOOLS) and body.endswith(_TOOLS_END):
            body = body.removeprefix(_TOOLS).removesuffix(_TOOLS_END).strip()
    if not (body.startswith(_FENCE) and body.endswith(_FENCE)):
        return body
    head, _, content = body.removesuffix(_FENCE).partition("\n")
    return content if head in (_FENCE, f"{_FENCE}json", f"{_FENCE}tool_call") else body


def _read_objects(text: str) -> list[JsonObject]:
    """Return the JSON objects of a text that only consists of JSON objects, and [] for any other text.

    If an object cannot be read to its end, return the objects before it.
    """
    text, position = _without_fence(text), 0
    objects: list[JsonObject] = []
    while position < len(text):
        if text[position] != "{":
            return []
        is_doubled = text.startswith("{{", position)
        try:
            value, position = _DECODER.raw_decode(text, position + is_doubled)
        except (ValueError, RecursionError):
            return objects
        if is_doubled and not text.startswith("}", position):
            return objects
        position += is_doubled
        objects.append(value)
        while text[position : position + 1].isspace():
            position += 1
    return objects


def _read_object(value: Json) -> Call | None:
    """Return the call if the value is an object with just two fields, a name and arguments (Llama: `parameters`)."""
    if not isinstance(value, dict) or not isinstance(name := value.get("name"), str):
        return None
    arguments = value.get("arguments", value.get("parameters"))
    if len(value) != 2 or not isinstance(arguments, dict):
        return None
    return _read_listed({"name": name, "arguments": arguments})


def _write(thought: str, name: str, arguments: str) -> str:
    """Return three lines that are read as exactly this call, whatever thought and arguments contain."""
    beside = read_reply(thought[:MAX_THOUGHT])
    thought = without_roles(thought[:MAX_THOUGHT].strip() if beside.action else beside.thought)
    arguments = arguments[:MAX_ARGUMENTS]
    for call_thought, call_arguments in (
        (thought, arguments),
        (" ".join(thought.split()), arguments),
        (thought, json.dumps(arguments, ensure_ascii=False)),
        (" ".join(thought.split()), json.dumps(arguments, ensure_ascii=False)),
    ):
        reply = Reply(call_thought, name, call_arguments)
        text = write_reply(reply)
        if read_reply(text) == reply and "\n<|" not in text:
            return text
    return write_reply(Reply("", name, json.dumps(arguments, ensure_ascii=False)))
