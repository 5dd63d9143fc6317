"""Convert framed text and functions to messages with `tool_calls` and the field `tools` of a request.

In a prompt a call is the assistant's turn of three lines (three_lines.py), and its observation is the user's next turn,
which begins with `Observation:`. These two turns become an assistant's message with one tool call, and a message of the
role `tool` with the call's id. Any other turn stays a message with text. A call whose arguments are no JSON object also
stays text, because a server must be able to read the arguments.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from lumos_queue.commands import FunctionSchema, digest
from lumos_queue.endpoints.chat_messages import chat_messages
from lumos_queue.records import Json, JsonObject
from lumos_queue.text_calls.three_lines import STOP, Reply, read_reply, write_reply
from lumos_queue.util.untrusted_json import read_json

MAX_NAME = 64  #: characters of a function's name that servers accept
_NAME = re.compile(rf"[A-Za-z0-9_-]{{1,{MAX_NAME}}}")
_OTHERS = re.compile("[^A-Za-z0-9_-]")
_MARK = 8  #: characters of the digest that distinguishes names
_OBSERVATION = STOP.strip()  #: the start of the turn after a call


def tool_messages(prompt: str, functions: Sequence[FunctionSchema]) -> list[dict[str, Json]]:
    """Return the turns of framed text as messages of a request, with calls as `tool_calls`."""
    return with_tool_calls(chat_messages(prompt), functions)


def tools_field(functions: Sequence[FunctionSchema]) -> list[dict[str, Json]]:
    """Return the field `tools` of a request, which describes the functions."""
    names = server_names(functions)
    return [
        {
            "type": "function",
            "function": {
                "name": names[function.name],
                "description": function.description,
                "parameters": json.loads(function.parameters),
            },
        }
        for function in functions
    ]


def server_names(functions: Sequence[FunctionSchema]) -> dict[str, str]:
    """Return each function's name in requests, which is its own name if OpenAI's interface allows that.

    Otherwise underscores replace the characters that are not allowed, and a digest is appended.
    """
    names = {function.name: function.name for function in functions if _NAME.fullmatch(function.name)}
    for function in functions:
        number = 0
        while function.name not in names:
            mark = digest(function.name, str(number))[:_MARK]
            name = f"{_OTHERS.sub('_', function.name)[: MAX_NAME - _MARK - 1]}_{mark}"
            if name not in names.values():
                names[function.name] = name
            number += 1
    return names


def with_tool_calls(messages: Sequence[JsonObject], functions: Sequence[FunctionSchema]) -> list[dict[str, Json]]:
    """Return the messages with each pair of call and observation converted to an assistant's and a tool's message.

    Each `tool` message follows the assistant's message with the same id. Ids are `call00001` and so on: the strictest
    servers only accept ids of nine letters and digits.
    """
    names = server_names(functions)
    converted_messages: list[dict[str, Json]] = []
    number, index = 0, 0
    while index < len(messages):
        reply = _read_call(messages[index], names)
        observation = _read_observation(messages[index + 1]) if index + 1 < len(messages) else None
        if reply is None or observation is None:
            converted_messages.append(dict(messages[index]))
            index += 1
            continue
        number += 1
        call_id = f"call{number:05d}"
        function_call = {"name": names.get(reply.action, reply.action), "arguments": reply.arguments or "{}"}
        call = {"id": call_id, "type": "function", "function": function_call}
        converted_messages.append({"role": "assistant", "content": reply.thought or None, "tool_calls": [call]})
        converted_messages.append({"role": "tool", "tool_call_id": call_id, "content": observation})
        index += 2
    return converted_messages


def _read_call(message: JsonObject, names: Mapping[str, str]) -> Reply | None:
    """Return the call of an assistant's turn of exactly three lines, or two without a thought; None for other turns."""
    content = message["content"]
    if message["role"] != "assistant" or not isinstance(content, str):
        return None
    reply = read_reply(content)
    if not reply.action or write_reply(reply).strip() != content.strip():
        return None
    if reply.action not in names and not _NAME.fullmatch(reply.action):
        return None
    return reply if is_object(reply.arguments or "{}") else None


def _read_observation(message: JsonObject) -> str | None:
    """Return the observation in the user's turn after a call; None for other turns."""
    content = message["content"]
    if message["role"] != "user" or not isinstance(content, str) or not content.startswith(_OBSERVATION):
        return None
    return content.removeprefix(_OBSERVATION).strip()


def is_object(text: str) -> bool:
    """Whether a text is a JSON object that servers can read, which has no line breaks within its strings."""
    try:
        return isinstance(read_json(text), dict)
    except ValueError:
        return False
