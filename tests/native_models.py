"""A scripted chat server that calls functions natively, and refuses what OpenAI's interface does not allow."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from lumos_queue.text_calls.three_lines import read_reply
from tests.fake_endpoint import FakeEndpoint

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def function_call(name: str, arguments: Any = "{}", call_id: str = "x") -> dict[str, Any]:
    """An entry of `tool_calls`."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def as_message(reply: str) -> dict[str, Any]:
    """The message of a server whose model decides what a reply of three lines decides."""
    read = read_reply(reply)
    if not read.action:
        return {"role": "assistant", "content": reply}
    calls = [function_call(read.action, read.arguments)]
    return {"role": "assistant", "content": read.thought or None, "tool_calls": calls}


class NativeServer(FakeEndpoint):
    """Answers each request by the next message, or by a function of the request's body.

    A request that OpenAI's interface does not allow gets a 400, and is in `wrong`.
    """

    def __init__(self, messages: Sequence[dict[str, Any]] | Callable[[dict[str, Any]], Any], **options: Any):
        super().__init__(self._answer_body, keep_bodies=True, **options)
        self.wrong: list[str] = []
        next_messages = iter(messages if not callable(messages) else ())
        self._next = messages if callable(messages) else lambda body: next(next_messages)

    def _answer_body(self, prompt: str) -> str | int | tuple[int, bytes]:
        body = self.bodies[-1]
        if problem := find_problem(body):
            self.wrong.append(problem)
            return 400, json.dumps({"error": {"message": problem}}).encode()
        message = self._next(body)
        if not isinstance(message, dict):
            return message
        ending = message.pop("finish_reason", "tool_calls" if message.get("tool_calls") else "stop")
        choice = {"index": 0, "message": message, "finish_reason": ending}
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        return 200, json.dumps({"object": "chat.completion", "choices": [choice], "usage": usage}).encode()


def find_problem(body: dict[str, Any]) -> str:
    """Return what OpenAI's interface does not allow in a request; '' if it allows all."""
    tools = body.get("tools")
    if tools is not None and not (isinstance(tools, list) and tools):
        return "tools must be a list with members"
    for tool in tools or ():
        if tool.keys() != {"type", "function"} or tool["type"] != "function":
            return "a tool has a type and a function"
        if tool["function"].keys() != {"name", "description", "parameters"}:
            return "a function has a name, a description and parameters"
        if not NAME.fullmatch(tool["function"]["name"]):
            return f"tools.function.name {tool['function']['name']} does not match"
        if tool["function"]["parameters"].keys() != {"type", "properties", "required"}:
            return "parameters are no JSON schema"
    open_calls: list[str] = []
    for message in body["messages"]:
        if message["role"] == "tool":
            if message.keys() != {"role", "tool_call_id", "content"} or message["tool_call_id"] not in open_calls:
                return "a tool message must follow the message with its tool call"
            if not isinstance(message["content"], str):
                return "a tool message has content"
            open_calls.remove(message["tool_call_id"])
            continue
        if open_calls:
            return "a tool call must be followed by a tool message"
        if not isinstance(message.get("content"), str) and not message.get("tool_calls"):
            return "a message has content"
        for call in message.get("tool_calls", ()):
            if problem := _find_problem_of_call(message, call):
                return problem
            open_calls.append(call["id"])
    return "a tool call must be followed by a tool message" if open_calls else ""


def _find_problem_of_call(message: dict[str, Any], call: dict[str, Any]) -> str:
    if message["role"] != "assistant" or call.keys() != {"id", "type", "function"} or call["type"] != "function":
        return "a tool call has an id, a type and a function"
    if not NAME.fullmatch(call["function"]["name"]) or not isinstance(call["function"]["arguments"], str):
        return "a tool call has a name and arguments as text"
    return "" if isinstance(json.loads(call["function"]["arguments"]), dict) else "arguments are no object"
